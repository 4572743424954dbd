"""A small network and its quantized forms, by ONNX Runtime's own tools, as a script.

Run in a process of its own: the tools log and warn as they like. The weights have 7 bits: with 8,
products of bytes saturate on some CPUs, and the runs would be off there.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = (3, 8, 8)


def float_network():
    draw = np.random.default_rng(0)
    weights = {
        "w1": draw.standard_normal((8, 3, 3, 3)) * 0.2,
        "b1": draw.standard_normal(8) * 0.1,
        "w2": draw.standard_normal((8, 8, 3, 3)) * 0.2,
        "fc": draw.standard_normal((8, 10)),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="conv2", pads=[1] * 4),
        helper.make_node("Add", ["c2", "r1"], ["s"], name="add"),
        helper.make_node("GlobalAveragePool", ["s"], ["g"], name="pool"),
        helper.make_node("Flatten", ["g"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "fc"], ["y"], name="head"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *SHAPE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def main(folder):
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_dynamic,
        quantize_static,
    )

    class Reader(CalibrationDataReader):
        def __init__(self):
            draw = np.random.default_rng(1)
            batches = [draw.standard_normal((16, *SHAPE)).astype(np.float32) for _ in range(4)]
            # As wide as generated inputs may become, so that clean forms clip nothing.
            self.batches = iter([*batches, 1.5 * batches[0]])

        def get_next(self):
            batch = next(self.batches, None)
            return None if batch is None else {"x": batch}

    source = folder / "net.onnx"
    onnx.save(float_network(), source)
    for name, form in (("qdq", QuantFormat.QDQ), ("qop", QuantFormat.QOperator)):
        quantize_static(
            source, folder / f"{name}.onnx", Reader(), quant_format=form, per_channel=True,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, reduce_range=True,
        )  # fmt: skip
    quantize_dynamic(
        source, folder / "dynamic.onnx", weight_type=QuantType.QInt8, reduce_range=True
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Pairs from PyTorch: exported to ONNX, and quantized by ONNX Runtime.

python benchmarks/peer_tools/make_torch_pairs.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from peer_tools.network import built
from peer_tools.pairs import Pair

EPSILON = 1e-4


def main() -> None:
    folder = Path(sys.argv[1])
    network, image = built()
    program = torch.export.export(network, (image,))
    plain = _place(folder, "onnx_clean")
    torch.export.save(program, plain / "model.pt2")
    torch.onnx.export(
        program, (), str(plain / "model.onnx"), input_names=["image"], output_names=["scores"],
        dynamo=True, verbose=False, external_data=False,
    )  # fmt: skip
    np.savez(plain / "inputs.npz", image=image.numpy())
    files = {"reference": "model.pt2", "candidate": "model.onnx", "inputs": "inputs.npz"}
    Pair(name="onnx_clean", title="PyTorch → ONNX, as exported", **files).write(plain)
    _onnx_faults(folder, plain, files)
    _quantized(folder, plain)
    _pad_into_pool(folder)


def _place(folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    return place


def _onnx_faults(folder: Path, plain: Path, files: dict[str, str]) -> None:
    for name, title, fault in (
        ("onnx_epsilon", f"… the epsilon of a LayerNorm is {EPSILON}, not 1e-05", _epsilon),
        ("onnx_channels", "… two output channels of a Conv are exchanged", _channels),
    ):
        place = _place(folder, name)
        model = onnx.load(plain / "model.onnx")
        node = fault(model)
        onnx.save(model, place / "model.onnx")
        for each in ("model.pt2", "inputs.npz"):
            (place / each).write_bytes((plain / each).read_bytes())
        Pair(name=name, title=title, faulty=(node.name, *node.output), **files).write(place)


def _epsilon(model: onnx.ModelProto) -> onnx.NodeProto:
    (node,) = (node for node in model.graph.node if node.op_type == "LayerNormalization")
    for attribute in node.attribute:
        if attribute.name == "epsilon":
            attribute.f = EPSILON
    return node


def _channels(model: onnx.ModelProto) -> onnx.NodeProto:
    node = [node for node in model.graph.node if node.op_type == "Conv"][1]
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in node.input[1:]:
        values = numpy_helper.to_array(stored[name]).copy()
        values[[2, 5]] = values[[5, 2]]
        stored[name].CopyFrom(numpy_helper.from_array(values, name))
    return node


def _quantized(folder: Path, plain: Path) -> None:
    """Static int8 by ONNX Runtime's quantizer, and the same with the range of one tensor cut."""
    from onnxruntime.quantization import CalibrationDataReader, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Images(CalibrationDataReader):
        def __init__(self) -> None:
            generator = np.random.default_rng(1)
            images = generator.random((16, 1, 3, 24, 24), dtype=np.float32)
            self._left = iter([{"image": image} for image in images])

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self._left, None)

    place = _place(folder, "qdq_clean")
    quant_pre_process(str(plain / "model.onnx"), str(place / "float.onnx"))
    # Weights of seven bits, because products of bytes saturate on some CPUs.
    quantize_static(
        str(place / "float.onnx"), str(place / "int8.onnx"), Images(), reduce_range=True
    )
    (place / "inputs.npz").write_bytes((plain / "inputs.npz").read_bytes())
    files = {"reference": "float.onnx", "candidate": "int8.onnx", "inputs": "inputs.npz"}
    title = "ONNX → int8 by ONNX Runtime, calibrated"
    Pair(name="qdq_clean", title=title, lossy=True, **files).write(place)

    clipped = _place(folder, "qdq_clipped")
    model = onnx.load(place / "int8.onnx")
    quantizer = _quantizer_after(model, [n for n in model.graph.node if n.op_type == "Conv"][1])
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    scale = numpy_helper.to_array(stored[quantizer.input[1]])
    stored[quantizer.input[1]].CopyFrom(numpy_helper.from_array(scale / 4, quantizer.input[1]))
    onnx.save(model, clipped / "int8.onnx")
    for each in ("float.onnx", "inputs.npz"):
        (clipped / each).write_bytes((place / each).read_bytes())
    readers = [node for node in model.graph.node if quantizer.output[0] in node.input]
    names = (quantizer.name, quantizer.input[0], *quantizer.output)
    names += tuple(name for node in readers for name in (node.name, *node.output))
    title = "… the scale of one activation is a quarter of it"
    Pair(name="qdq_clipped", title=title, lossy=True, faulty=names, **files).write(clipped)


def _quantizer_after(model: onnx.ModelProto, node: onnx.NodeProto) -> onnx.NodeProto:
    """The quantizer of what a convolution gives, behind its activation where there is one."""
    name = node.output[0]
    while True:
        reader = next(each for each in model.graph.node if name in each.input)
        if reader.op_type == "QuantizeLinear":
            return reader
        name = reader.output[0]


def _pad_into_pool(folder: Path) -> None:
    """A correct file that an optimizer of ONNX Runtime changes as it opens it."""
    text = """<ir_version: 9, opset_import: ["": 17]>
    padded (float[1,1,12,12] x) => (float[1,1,12,12] y)
    <int64[8] border = {0, 0, 1, 1, 0, 0, 1, 1}> {
        low = Neg (x)
        p = Pad (low, border)
        y = MaxPool <kernel_shape = [3, 3]> (p)
    }"""
    place = _place(folder, "ort_optimizer")
    model = onnx.parser.parse_model(text)
    for number, node in enumerate(model.graph.node):
        node.name = f"{node.op_type.lower()}{number}"
    onnx.save(model, place / "model.onnx")
    numbers = np.random.default_rng(0).random((1, 1, 12, 12), dtype=np.float32) + 1
    np.savez(place / "inputs.npz", x=numbers)
    Pair(
        name="ort_optimizer", title="a correct ONNX file that ONNX Runtime's optimizer changes",
        reference="model.onnx", candidate="model.onnx", inputs="inputs.npz",
        faulty=("Pad_Fusion", "pad1", "p"),
    ).write(place)  # fmt: skip


if __name__ == "__main__":
    main()

"""One small model per framework, for the contracts; a new framework adds its own here."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Sample:
    path: Path
    feeds: dict[str, np.ndarray]


def onnx_sample(folder: Path) -> Sample:
    """Conv, BatchNorm, two branches, MatMul and an integer output."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)

    def constant(name, *shape):
        return numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "g", "o", "m", "v"], ["n"], "norm"),
        helper.make_node("Relu", ["n"], ["r"], "relu"),
        helper.make_node("Sigmoid", ["n"], ["s"], "gate"),
        helper.make_node("Mul", ["r", "s"], ["p"], "product"),
        helper.make_node("GlobalAveragePool", ["p"], ["a"], "pool"),
        helper.make_node("Flatten", ["a"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "k", "h"], ["logits"], "head"),
        helper.make_node("ArgMax", ["logits"], ["label"], "label_of", axis=1, keepdims=0),
    ]
    weights = [constant("w", 4, 3, 3, 3), constant("b", 4), constant("g", 4), constant("o", 4)]
    weights += [constant("m", 4), numpy_helper.from_array(np.full(4, 1.5, np.float32), "v")]
    weights += [constant("k", 4, 5), constant("h", 5)]
    graph = helper.make_graph(
        nodes,
        "sample",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 6, 6])],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, [2, 5]),
            helper.make_tensor_value_info("label", TensorProto.INT64, [2]),
        ],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = folder / "sample.onnx"
    onnx.save(model, path)
    return Sample(path, {"x": rng.normal(size=(2, 3, 6, 6)).astype(np.float32)})


def pytorch_sample(folder: Path) -> Sample:
    """The same kind of network as a .pt2 file, with an LSTM's several outputs."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.rnn, self.head = nn.LSTM(6, 7, batch_first=True), nn.Linear(7, 5)

        def forward(self, x):
            y = self.norm(self.conv(x))
            y = torch.relu(y) * torch.sigmoid(y)
            states, (last, _) = self.rnn(y.mean(1))
            logits = self.head(states[:, -1] + last[0])
            return logits, logits.argmax(1)

    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, 6)
    path = folder / "sample.pt2"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about the LSTM's flat weights
        torch.export.save(torch.export.export(Net().eval(), (x,)), path)
    return Sample(path, {"x": x.numpy()})


def tflite_sample(folder: Path) -> Sample:
    """The same kind of network, written operator by operator."""
    from tflite_building import small

    path = folder / "sample.tflite"
    path.write_bytes(small().data())
    x = np.random.default_rng(1).normal(size=(2, 6, 6, 3)).astype(np.float32)
    return Sample(path, {"x": x})


def tensorflow_sample(folder: Path) -> Sample:
    """The same kind of network as a .keras file, with a loop over time."""
    from tf_building import image, network, saved

    return Sample(saved(network(), folder / "sample.keras"), {"image": image()})


def executorch_sample(folder: Path) -> Sample:
    """The same kind of network as a .pte file, a part of it lowered to XNNPACK."""
    import torch
    from torch import nn

    from executorch_programs import exported, lowered

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.head = nn.Linear(4, 5)

        def forward(self, x):
            y = self.norm(self.conv(x))
            y = torch.relu(y) * torch.sigmoid(y)
            logits = self.head(y.mean((2, 3)))
            return logits, logits.argmax(1)

    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, 6)
    path = folder / "sample.pte"
    path.write_bytes(lowered(exported(Net(), [x]), xnnpack=True))
    return Sample(path, {"args_0": x.numpy()})


def jax_sample(folder: Path) -> Sample:
    """The same kind of network as an exported function, with a loop over time."""
    from jax_building import exported, image

    path = folder / "sample.jax"
    path.write_bytes(exported())
    return Sample(path, {"x": image()})


def coreml_sample(folder: Path) -> Sample:
    """The same kind of network, written field by field."""
    from coreml_building import small

    path = folder / "sample.mlmodel"
    path.write_bytes(small())
    return Sample(
        path, {"x": np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)}
    )


def openvino_sample(folder: Path) -> Sample:
    """The same kind of network in OpenVINO's own files, with weights of 8 bits in its head."""
    from openvino_building import network

    path = network(folder / "sample.xml")
    x = np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)
    return Sample(path, {"x": x})


SAMPLES = {
    "coreml": coreml_sample,
    "executorch": executorch_sample,
    "jax": jax_sample,
    "onnx": onnx_sample,
    "openvino": openvino_sample,
    "pytorch": pytorch_sample,
    "tensorflow": tensorflow_sample,
    "tflite": tflite_sample,
}


def unknown_onnx(folder: Path) -> tuple[Path, str]:
    """A model with an operator that no runtime knows, and the operator's name."""
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("Frobnicate", ["x"], ["y"], "odd_one", domain="com.example")
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "y")]
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path = folder / "unknown.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path, "Frobnicate"


def unknown_tflite(folder: Path) -> tuple[Path, str]:
    """A model with a custom operator that no runtime has."""
    from tflite_building import unknown

    path = folder / "unknown.tflite"
    path.write_bytes(unknown("Frobnicate").data())
    return path, "Frobnicate"


def unknown_tensorflow(folder: Path) -> tuple[Path, str]:
    """A frozen graph with an operator that TensorFlow does not have."""
    from tf_building import graph, placeholder

    path = folder / "unknown.pb"
    unknown = graph(placeholder("x"), ("y", "Frobnicate", ["x"], {}))
    path.write_bytes(unknown.SerializeToString())
    return path, "Frobnicate"


def unknown_jax(folder: Path) -> tuple[Path, str]:
    """An exported function that calls a library by a name that nothing has."""
    from jax_building import calling

    path = folder / "unknown.jax"
    path.write_bytes(calling("Frobnicate"))
    return path, "Frobnicate"


def unknown_coreml(folder: Path) -> tuple[Path, str]:
    """An ML program with an operator that no runtime has."""
    from coreml_building import unknown

    path = folder / "unknown.mlmodel"
    path.write_bytes(unknown("Frobnicate"))
    return path, "Frobnicate"


def unknown_openvino(folder: Path) -> tuple[Path, str]:
    """A model with an operator of no operator set of OpenVINO's."""
    from openvino_building import unknown

    return unknown(folder / "unknown.xml", "Frobnicate"), "Frobnicate"


UNKNOWN = {
    "coreml": unknown_coreml,
    "jax": unknown_jax,
    "onnx": unknown_onnx,
    "openvino": unknown_openvino,
    "tensorflow": unknown_tensorflow,
    "tflite": unknown_tflite,
}

"""Eight small models of four formats, and samples for each; run as a script, into a folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

SHAPES = {"cnn": (2, 3, 16, 16), "lstm": (2, 7, 6), "encoder": (2, 7, 16)}


def torch_models(folder: Path) -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)

    class Cnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
            self.second, self.head = nn.Conv2d(8, 16, 3, stride=2), nn.Linear(16, 5)

        def forward(self, x):
            x = torch.relu(self.second(torch.relu(self.norm(self.first(x)))))
            return self.head(x.mean((2, 3)))

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrent = nn.LSTM(6, 12, batch_first=True)
            self.head = nn.Linear(12, 4)

        def forward(self, x):
            return self.head(self.recurrent(x)[0][:, -1])

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(
                16, 4, 32, dropout=0.0, batch_first=True, activation="gelu"
            )
            self.head = nn.Linear(16, 4)

        def forward(self, x):
            return self.head(self.layer(x).mean(1))

    for name, build in (("cnn", Cnn), ("lstm", Lstm), ("encoder", Encoder)):
        module = build().eval()
        exported = torch.export.export(module, (torch.randn(SHAPES[name]),))
        torch.export.save(exported, folder / f"{name}.pt2")


def keras_models(folder: Path) -> None:
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    stack = [
        layers.Conv2D(8, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.Conv2D(16, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(5),
    ]
    keras.Sequential([keras.Input((16, 16, 3), name="x"), *stack]).save(folder / "cnn.keras")
    recurrent = [keras.Input((7, 6), name="x"), layers.GRU(12), layers.Dense(4)]
    keras.Sequential(recurrent).save(folder / "gru.keras")


def onnx_model(folder: Path) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    draw = np.random.default_rng(0)
    weights = {
        name: draw.standard_normal(shape).astype(np.float32) / 8
        for name, shape in (("w", (64, 64)), ("b", (64,)), ("v", (64, 8)))
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="hidden"),
        helper.make_node("Relu", ["h"], ["r"], name="positive"),
        helper.make_node("MatMul", ["r", "v"], ["s"], name="scores"),
        helper.make_node("Softmax", ["s"], ["y"], name="shares", axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 8])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opset = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "dense.onnx")


def jax_functions(folder: Path) -> None:
    import jax
    from jax import lax

    draw = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return (draw.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)

    first, second, head = weights(3, 3, 3, 8), weights(3, 3, 8, 16), weights(16, 5)
    taken, kept, last = weights(6, 12), weights(12, 12), weights(12, 4)

    def cnn(x):
        for kernel, stride in ((first, 1), (second, 2)):
            x = lax.conv_general_dilated(
                x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x)
        return x.mean((1, 2)) @ head

    def scan(x):
        def step(state, row):
            state = jax.numpy.tanh(row @ taken + state @ kept)
            return state, None

        state, _ = lax.scan(step, jax.numpy.zeros((x.shape[0], 12)), x.transpose(1, 0, 2))
        return state @ last

    for name, function, shape in (("cnn", cnn, (1, 16, 16, 3)), ("scan", scan, (1, 7, 6))):
        exported = jax.export.export(jax.jit(function), platforms=("cpu",))(
            jax.ShapeDtypeStruct(shape, "float32")
        )
        (folder / f"{name}.jax").write_bytes(exported.serialize())


def samples(folder: Path) -> None:
    draw = np.random.default_rng(1)
    shapes = {f"{name}.pt2": shape for name, shape in SHAPES.items()}
    shapes |= {"cnn.keras": (1, 16, 16, 3), "gru.keras": (1, 7, 6), "dense.onnx": (4, 64)}
    shapes |= {"cnn.jax": (1, 16, 16, 3), "scan.jax": (1, 7, 6)}
    for model, shape in shapes.items():
        place = folder / f"{model} samples"
        place.mkdir()
        for number in range(8):
            x = draw.standard_normal(shape).astype(np.float32)
            np.savez(place / f"{number}.npz", x=x)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    torch_models(target)
    keras_models(target)
    onnx_model(target)
    jax_functions(target)
    samples(target)

"""A wrong scale or zero point of stored integers is set right, and the integers stay."""

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from isomorph import api
from isomorph.core.model import Node
from isomorph.fixes._weight_scales import other_grid
from onnx_pairs import model, node

RNG = np.random.default_rng(11)
WEIGHT = (RNG.normal(size=(8, 6)) * np.linspace(0.5, 1.5, 6)).astype(np.float32)
X = RNG.normal(size=(16, 8)).astype(np.float32)
SHAPES = {"x": [16, 8]}, {"y": [16, 6]}


def node_of(op, *inputs):
    return Node(name="n", op=op, native_op=op, inputs=inputs, outputs=("y",))


def reference():
    return model([node("Tanh", "x", "t"), node("MatMul", "t w", "y")], *SHAPES, {"w": WEIGHT})


def per_channel(scale):
    steps = np.abs(WEIGHT).max(axis=0) / 127
    weights = {"q": np.rint(WEIGHT / steps).astype(np.int8), "s": scale(steps.astype(np.float32))}
    parts = [node("DequantizeLinear", "q s", "w", axis=1)]
    return model([node("Tanh", "x", "t"), *parts, node("MatMul", "t w", "y")], *SHAPES, weights)


def dynamic(shift):
    step, zero = np.float32(np.abs(WEIGHT).max() / 127), 128
    weights = {
        "q": (np.rint(WEIGHT / step) + zero).clip(0, 255).astype(np.uint8),
        "z": np.uint8(zero + shift),
        "s": step,
    }
    parts = [
        helper.make_node("DynamicQuantizeLinear", ["t"], ["a", "sa", "za"], name="quantize"),
        node("MatMulInteger", "a q za z", "i"),
        node("Cast", "i", "c", to=1), node("Mul", "sa s", "m"), node("Mul", "c m", "y"),
    ]  # fmt: skip
    return model([node("Tanh", "x", "t"), *parts], *SHAPES, weights)


def fixed(folder, candidate):
    onnx.save(reference(), folder / "reference.onnx")
    onnx.save(candidate, folder / "candidate.onnx")
    paths = folder / "reference.onnx", folder / "candidate.onnx"
    repair = api.fix(*paths, output=folder / "f.onnx", inputs={"x": X}, in_process=True)
    assert repair.repaired, (repair.reason, repair.refused, repair.advice)
    return {each.name: numpy_helper.to_array(each) for each in _stored(folder / "f.onnx")}


def _stored(path):
    return onnx.load(path).graph.initializer


def test_scales_of_other_channels_are_set_right(tmp_path):
    made = fixed(tmp_path, per_channel(lambda steps: steps[::-1].copy()))
    right = {
        each.name: numpy_helper.to_array(each) for each in per_channel(np.copy).graph.initializer
    }
    assert np.array_equal(made["q"], right["q"])
    np.testing.assert_allclose(made["s"], right["s"], rtol=0.01)


@pytest.mark.parametrize("shift", [1, 3])
def test_a_zero_point_of_a_dynamic_product_is_made_up_for(tmp_path, shift):
    made = fixed(tmp_path, dynamic(shift))
    real = (made["q"].astype(np.float64) - int(made["z"])) * float(made["s"])
    assert np.abs(real - WEIGHT).max() <= 0.51 * float(made["s"])


def test_where_no_output_shows_it_the_zero_point_is_set_right():
    whole = np.arange(-60, 60, dtype=np.int8).reshape(10, 12)
    context = SimpleNamespace(
        tensor="q",
        candidate=SimpleNamespace(
            quantization=(SimpleNamespace(tensor="q", scale=(0.5,)),), constants={"q": 0, "z": 0}
        ),
        nodes=(node_of("MatMulInteger", "a", "q", "za", "z"),),
        constant=lambda _, name: {"q": whole, "z": np.int8(4)}[name],
    )
    ((name, value),) = other_grid(context, whole * 0.5)
    assert (name, float(value)) == ("z", 0.0)
    assert not list(other_grid(context, np.random.default_rng(0).normal(size=whole.shape)))

"""What is beyond one rounding of float16 is found: units in the last place, and an epsilon."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

GIVEN = {"x": np.random.default_rng(7).normal(size=(2, 3, 8, 8)).astype(np.float32)}


def _weights():
    random = np.random.default_rng(0)

    def normal(*shape):
        return (random.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    return {
        "w0": normal(16, 3, 3, 3), "b0": 0.1 * normal(16), "scale": 1 + 0.2 * normal(16),
        "offset": 0.1 * normal(16), "mean": 0.1 * normal(16),
        "variance": random.uniform(0.5, 1.5, 16).astype(np.float32),
        "factor": np.float32(1 / np.sqrt(12)), "w1": normal(16, 16, 3, 3), "b1": 0.1 * normal(16),
    }  # fmt: skip


def _network(*, epsilon=1e-5, half=False, moved=None):
    """A small network; ``moved`` names a weight and how many units to move which numbers of it."""
    kind, numbers = (TensorProto.FLOAT16, np.float16) if half else (TensorProto.FLOAT, np.float32)
    stored = {name: np.asarray(value, numbers) for name, value in _weights().items()}
    if moved is not None:
        name, units, which = moved
        units = np.where(which(stored[name].shape), units, 0).astype(np.int16)
        stored[name] = (stored[name].view(np.int16) + units).view(np.float16)
    node, norm = helper.make_node, ["scale", "offset", "mean", "variance"]
    nodes = [
        node("Conv", ["a", "w0", "b0"], ["c"], "first", pads=[1] * 4),
        node("BatchNormalization", ["c", *norm], ["n"], "normalized", epsilon=epsilon),
        node("Relu", ["n"], ["r"], "bent"),
        node("Mul", ["r", "factor"], ["m"], "scaled"),
        node("Conv", ["m", "w1", "b1"], ["s"], "second", pads=[1] * 4),
    ]
    ends = [
        node("Cast", ["x"], ["a"], "narrow", to=kind),
        node("Cast", ["s"], ["y"], "wide", to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        [ends[0], *nodes, ends[1]],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 16, 8, 8])],
        [numpy_helper.from_array(value, name) for name, value in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def _one(shape):
    mask = np.zeros(shape, bool)
    mask.flat[mask.size // 2] = True
    return mask


def _all(shape):
    return np.ones(shape, bool)


def _checked(**changes):
    narrow = _network(half=True, **changes)
    return isomorph.check(_network(), narrow, inputs=GIVEN, in_process=True)


@pytest.mark.parametrize("which", [_one, _all], ids=["one", "all"])
@pytest.mark.parametrize("name", ["b0", "scale", "factor", "w1", "b1"])
def test_three_or_four_units_are_found(name, which):
    report = _checked(moved=(name, 3 if which is _one else 4, which))
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    assert f"'{name}'" in report.reason


def test_one_rounding_is_a_loss():
    assert _checked().verdict is isomorph.Verdict.DEGRADED


@pytest.mark.parametrize(
    ("epsilon", "verdict"),
    [(1e-3, "divergent"), (1e-4, "divergent"), (float(np.float16(1e-5)), "degraded"),
     (1e-5 + 1e-7, "degraded")],
)  # fmt: skip
def test_an_epsilon_is_compared_beside_float16(epsilon, verdict):
    """Float16 holds 1e-5 with an error of a thousandth, which is no other epsilon."""
    report = _checked(epsilon=epsilon)
    assert report.verdict == verdict, report.reason
    if verdict == "divergent":
        assert report.findings[0].node == "normalized"
        assert report.findings[0].cause == "attribute"

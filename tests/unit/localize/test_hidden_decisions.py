"""Two models that give the same label on the given input, from different numbers."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

import isomorph
from weight_pairs import F32, floats, model, node, normal

WEIGHT = normal(6, 4, seed=1)


def labeled(*, bias=None, softmax=False):
    """The largest of four numbers, with what stands before it written in several ways."""
    nodes = [node("MatMul", "x w", "a")]
    constants = {"w": WEIGHT}
    last = "a"
    if bias is not None:
        nodes += [node("Neg", "a", "n"), node("Sub", "b n", "c")]
        constants["b"], last = np.asarray(bias, F32), "c"
    if softmax:
        nodes += [node("Softmax", f"{last}", "s")]
        last = "s"
    nodes += [node("ArgMax", last, "y", axis=-1, keepdims=0)]
    return model(nodes, {"x": floats(1, 6)}, {"y": (TensorProto.INT64, [1])}, constants)


def checked(candidate, **options):
    feeds = {"x": WEIGHT.T[2:3] * F32(3)}
    return isomorph.check(labeled(), candidate, inputs=feeds, in_process=True, **options)


def test_numbers_that_differ_are_shown_by_one_of_many_inputs():
    report = checked(labeled(bias=[0.0, 0.05, 0.0, 0.0]))
    assert report.verdict is isomorph.Verdict.DIVERGENT
    found = next(each for each in report.findings if each.code == "LATENT")
    assert found.node == "Sub_c"
    assert "generated" in found.evidence["reached_by"]


@pytest.mark.parametrize(
    "faithful", [labeled(bias=[0.5] * 4), labeled(softmax=True)], ids=["shifted", "softmax"]
)
def test_other_numbers_with_the_same_order_are_the_same_function(faithful):
    report = checked(faithful)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert any(each.what == "decisions on other values" for each in report.skipped)


def test_the_same_numbers_need_no_further_inputs():
    report = checked(labeled(bias=[0.0] * 4))
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not any(each.what == "decisions on other values" for each in report.skipped)


def test_a_model_of_lower_precision_decides_on_other_numbers_by_design():
    """Its labels differ on inputs that are nearly undecided, and that is what float16 loses."""
    narrow = [
        node("Cast", "x", "h", to=TensorProto.FLOAT16), node("MatMul", "h w", "a"),
        node("ArgMax", "a", "y", axis=-1, keepdims=0),
    ]  # fmt: skip
    constants = {"w": WEIGHT.astype(np.float16)}
    other = model(narrow, {"x": floats(1, 6)}, {"y": (TensorProto.INT64, [1])}, constants)
    report = checked(other)
    assert report.verdict in {isomorph.Verdict.EQUIVALENT, isomorph.Verdict.DEGRADED}
    assert not any(each.what == "decisions on other values" for each in report.skipped)

"""Differences that the given inputs hide."""

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto

import isomorph
from isomorph.localize import other_input_search
from weight_pairs import F32, floats, model, node


def normalized(*, root):
    """Rounds its input, then divides by a size: all zeros where the input is small."""
    nodes = [
        node("Round", "x", "a"), node("Mul", "a a", "b"),
        node("ReduceMean", "b axes", "c", keepdims=1), node("Add", "c epsilon", "d"),
        node("Sqrt", "d", "e") if root is None else node("Pow", "d root", "e"),
        node("Div", "a e", "y"),
    ]  # fmt: skip
    constants = {"axes": np.int64([-1]), "epsilon": F32(1e-3)}
    if root is not None:
        constants["root"] = F32(root)
    return model(nodes, {"x": floats(2, 8)}, {"y": floats(2, 8)}, constants)


@pytest.mark.parametrize(
    ("root", "verdict"), [(0.5, isomorph.Verdict.EQUIVALENT), (0.0, isomorph.Verdict.DIVERGENT)]
)
def test_other_inputs_are_tried_where_the_given_ones_bring_zeros(root, verdict):
    small = np.full((2, 8), 0.25, F32)
    report = isomorph.check(
        normalized(root=None), normalized(root=root), inputs={"x": small}, in_process=True
    )
    assert report.verdict is verdict, report.reason
    if verdict is isomorph.Verdict.DIVERGENT:
        assert any("Pow_e" in each.nodes for each in report.findings)


def remainder(divisor, *, decomposed):
    """A remainder that small inputs do not reach, behind a part that may be written otherwise."""
    rectified = [node("Clip", "x least", "a")] if decomposed else [node("Relu", "x", "a")]
    nodes = [
        *rectified,
        node("Round", "a", "b"),
        node("Cast", "b", "c", to=TensorProto.INT64),
        node("Mod", "c divisor", "d"),
        node("Cast", "d", "e", to=TensorProto.FLOAT),
        node("Add", "e a", "y"),
    ]
    constants = {"divisor": np.int64([divisor])}
    if decomposed:
        constants["least"] = F32(0)
    return model(nodes, {"x": floats(2, 8)}, {"y": floats(2, 8)}, constants)


@pytest.mark.parametrize(
    ("divisor", "verdict"), [(3, isomorph.Verdict.EQUIVALENT), (6, isomorph.Verdict.DIVERGENT)]
)
def test_an_integer_that_the_given_inputs_do_not_reach_is_found(divisor, verdict):
    report = isomorph.check(
        remainder(3, decomposed=False), remainder(divisor, decomposed=True),
        inputs={"x": np.linspace(-1, 2, 16, dtype=F32).reshape(2, 8)}, in_process=True,
    )  # fmt: skip
    assert report.verdict is verdict, report.reason
    if verdict is isomorph.Verdict.DIVERGENT:
        assert any("Mod_d" in each.nodes for each in report.findings)


@pytest.mark.parametrize("most", [0, 1 << 10])
def test_a_large_model_is_tried_on_few_further_inputs_or_none_and_the_report_says_so(
    monkeypatch, most
):
    few = replace(other_input_search.OTHER_INPUTS, most=most)
    monkeypatch.setattr(other_input_search, "OTHER_INPUTS", few)
    report = isomorph.check(
        remainder(3, decomposed=False), remainder(6, decomposed=True),
        inputs={"x": np.linspace(-1, 2, 16, dtype=F32).reshape(2, 8)}, in_process=True,
    )  # fmt: skip
    listed = [each for each in report.skipped if each.what == few.left_out]
    assert bool(listed) == (report.verdict is isomorph.Verdict.EQUIVALENT)
    if most == 0:
        assert report.verdict is isomorph.Verdict.EQUIVALENT


def test_a_small_model_is_tried_on_all_of_them():
    report = isomorph.check(
        remainder(3, decomposed=False), remainder(3, decomposed=True),
        inputs={"x": np.linspace(-1, 2, 16, dtype=F32).reshape(2, 8)}, in_process=True,
    )  # fmt: skip
    left_out = other_input_search.OTHER_INPUTS.left_out
    assert left_out not in [each.what for each in report.skipped]

"""A wrong operator behind ties: rounding could make any label of it, and yet it is found."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

import isomorph
from weight_pairs import F32, floats, model, node


def labeled(op):
    """The place of the largest or the smallest of numbers that each occur twice."""
    nodes = [
        node("Concat", "x x", "a", axis=1), node("Mul", "a third", "b"),
        node(op, "b", "y", axis=1, keepdims=0),
    ]  # fmt: skip
    label = TensorProto.INT64, [2]
    return model(nodes, {"x": floats(2, 3)}, {"y": label}, {"third": F32(1 / 3)})


def test_another_operator_is_named_though_ties_leave_its_labels_open():
    feeds = {"x": np.array([[2.0, 2.0, 5.0], [5.0, 2.0, 2.0]], F32)}
    report = isomorph.check(labeled("ArgMax"), labeled("ArgMin"), inputs=feeds, in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert report.findings[0].code == "GUILTY_NODE"
    assert report.findings[0].node == "ArgMin_y"

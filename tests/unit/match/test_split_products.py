"""A product that was split into blocks of columns, one of them in a narrower type."""

import numpy as np
import pytest
from onnx import TensorProto

import isomorph
from weight_pairs import F32, floats, model, node, normal

WEIGHT = normal(5, 3, seed=1)


def whole():
    return model(
        [node("MatMul", "x w", "y")], {"x": floats(2, 5)}, {"y": floats(2, 3)}, {"w": WEIGHT}
    )


def split(factor=1.0):
    """The last column in float16, one element of the others times the factor."""
    first, last = WEIGHT[:, :2].copy(), WEIGHT[:, 2:].astype(np.float16)
    first[3, 1] *= F32(factor)
    nodes = [
        node("MatMul", "x first", "a"),
        node("Cast", "last", "wide", to=TensorProto.FLOAT),
        node("MatMul", "x wide", "b"),
        node("Concat", "a b", "y", axis=-1),
    ]
    return model(nodes, {"x": floats(2, 5)}, {"y": floats(2, 3)}, {"first": first, "last": last})


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, isomorph.Verdict.DEGRADED), (1.0003, isomorph.Verdict.DIVERGENT)],
)
def test_a_narrow_block_is_compared_in_its_own_type(factor, verdict):
    feeds = {"x": normal(2, 5, seed=2)}
    report = isomorph.check(whole(), split(factor), inputs=feeds, in_process=True)
    assert report.verdict is verdict, report.reason
    if verdict is isomorph.Verdict.DIVERGENT:
        assert any(each.node == "MatMul_a" for each in report.findings)

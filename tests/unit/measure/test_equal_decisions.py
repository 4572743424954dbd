"""Differences that only jumps would explain, where both graphs decide alike."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

import isomorph
from weight_pairs import F32, floats, model, node, normal

TIED = np.array([[3.0, 1.0, 3.0, 0.5, 3.0, 2.0]], F32)
"""Its largest numbers are equal: rounding decides which comes first."""
WEIGHT = np.eye(6, dtype=F32) * F32(1 / 3)


def ranked(offset=(0, 0), negated=False):
    """The places of the two largest of several equal numbers, and an offset to them."""
    nodes = [node("MatMul", "x w", "a")]
    if negated:
        nodes += [node("Neg", "a", "n"), node("Neg", "n", "b")]
    else:
        nodes += [node("Identity", "a", "b")]
    nodes += [node("TopK", "b k", "v i"), node("Add", "i o", "y")]
    constants = {"w": WEIGHT, "k": np.array([2], np.int64), "o": np.array([offset], np.int64)}
    whole = TensorProto.INT64, [1, 2]
    return model(nodes, {"x": floats(1, 6)}, {"y": whole}, constants)


def checked(reference, candidate, feeds=TIED):
    return isomorph.check(reference, candidate, inputs={"x": feeds}, in_process=True)


@pytest.mark.parametrize("negated", [False, True], ids=["same graph", "rewritten graph"])
@pytest.mark.parametrize("offset", [(2, 0), (0, 1), (-2, 0)])
def test_a_tie_does_not_excuse_an_offset_of_the_label(offset, negated):
    report = checked(ranked(), ranked(offset, negated=negated))
    assert report.verdict is isomorph.Verdict.DIVERGENT
    named = next(each for each in report.findings if each.node)
    assert "y" in named.tensors


def test_a_tie_that_is_broken_otherwise_is_still_the_same_function():
    """The candidate reads its numbers from the last to the first."""
    turned = [
        node("MatMul", "x w", "a"), node("Gather", "a r", "b", axis=1), node("TopK", "b k", "v j"),
        node("Sub", "five j", "y"),
    ]  # fmt: skip
    constants = {
        "w": WEIGHT, "r": np.arange(5, -1, -1), "k": np.array([2], np.int64),
        "five": np.array(5, np.int64),
    }  # fmt: skip
    whole = TensorProto.INT64, [1, 2]
    other = model(turned, {"x": floats(1, 6)}, {"y": whole}, constants)
    assert checked(ranked(), other).verdict is isomorph.Verdict.EQUIVALENT


def stepped(offset=0.0):
    """The sign of numbers that are exactly zero, and an offset to one of them."""
    nodes = [
        node("MatMul", "x w", "a"), node("Sub", "a a2", "d"), node("Sign", "d", "s"),
        node("Add", "s o", "y"),
    ]  # fmt: skip
    weight = normal(6, 4, seed=1)
    first = node("MatMul", "x w2", "a2")
    constants = {
        "w": weight, "w2": weight.copy(), "o": np.array([0, offset, 0, 0], F32),
    }  # fmt: skip
    return model([first, *nodes], {"x": floats(2, 6)}, {"y": floats(2, 4)}, constants)


def test_a_sign_of_zero_does_not_excuse_an_offset():
    feeds = normal(2, 6, seed=3)
    assert checked(stepped(), stepped(), feeds).verdict is isomorph.Verdict.EQUIVALENT
    report = checked(stepped(), stepped(1.0), feeds)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    named = next(each for each in report.findings if each.node)
    assert "y" in named.tensors


def saturated(offset=None):
    """Whole numbers of exactly three, on which rounding decides, and an offset before a softmax."""
    nodes = [
        node("Mul", "x ten", "a"), node("Round", "a", "r"),
        node("Cast", "r", "w", to=TensorProto.INT64), node("Mul", "w five", "b"),
        node("Cast", "b", "c", to=TensorProto.FLOAT), node("Tanh", "c", "t"),
        node("Mul", "t three", "m"), node("Cast", "m", "i", to=TensorProto.INT64),
        node("Cast", "i", "f", to=TensorProto.FLOAT),
    ]  # fmt: skip
    constants = {"ten": F32(10.0), "five": np.array([5], np.int64), "three": F32(3.0)}
    if offset is not None:
        constants["o"] = np.zeros((6, 5), F32)
        constants["o"][0, 4] = offset
        nodes.append(node("Add", "f o", "g"))
    nodes.append(node("Softmax", "f" if offset is None else "g", "y", axis=-2))
    return model(nodes, {"x": floats(6, 5)}, {"y": floats(6, 5)}, constants)


@pytest.mark.parametrize("offset", [0.5, 2.0])
def test_steps_of_many_elements_do_not_excuse_an_offset(offset):
    """Every draw moves other elements by a step, so that the outputs have no few values."""
    rows = [[4, -2, 3, 1, -7], [0, 1, 1, 6, 6], [2, 8, 2, -8, -1]]
    feeds = np.triu(np.array(rows * 2, F32))
    assert checked(saturated(), saturated(0.0), feeds).verdict is isomorph.Verdict.EQUIVALENT
    report = checked(saturated(), saturated(offset), feeds)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert next(each for each in report.findings if each.node).node == "Add_g"


SIGNS = np.random.default_rng(5).choice(np.array([-3.0, -1.0, 2.0, 4.0], F32), (4, 6))
"""Numbers with signs, and no zero."""


def labeled(op, *, turned=False):
    """The place of the largest of a function of signs, which has many ties."""
    nodes = [node("Sign", "x", "s"), node(op, "s", "a")]
    if turned:
        nodes += [
            node("Gather", "a r", "b", axis=1),
            node("ArgMax", "b", "j", axis=-1, keepdims=0),
            node("Sub", "five j", "y"),
        ]
    else:
        nodes += [node("ArgMax", "a", "y", axis=-1, keepdims=0)]
    constants = {"r": np.arange(5, -1, -1), "five": np.array(5, np.int64)} if turned else {}
    whole = TensorProto.INT64, [4]
    return model(nodes, {"x": floats(4, 6)}, {"y": whole}, constants)


@pytest.mark.parametrize("reference", ["Sin", "Cos"])
def test_ties_of_one_side_do_not_excuse_what_the_other_decides_clearly(reference):
    """All cosines of 1 and -1 are equal, so that noise in each of them reaches every label."""
    candidate = {"Sin": "Cos", "Cos": "Sin"}[reference]
    report = checked(labeled(reference), labeled(candidate), SIGNS)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert report.findings[0].node == f"{candidate}_a"


def test_ties_of_both_sides_may_be_broken_otherwise():
    two = np.array([[-1, 2, -3, 4, -1, -3]] * 4, F32)
    report = checked(labeled("Sin"), labeled("Sin", turned=True), two)
    assert report.verdict is isomorph.Verdict.EQUIVALENT, report.reason


@pytest.mark.parametrize("op", ["Sigmoid", "Tanh", "Erf"])
def test_a_saturated_function_excuses_a_label(op):
    """Its results are all 1, even in float64, and the label without it is the largest number."""
    large = np.array([[40.0, 60.0, 50.0, -1.0, 41.0, 80.0]] * 4, F32)

    def decided(*before):
        nodes = [*before, node("ArgMax", "a" if before else "x", "y", axis=-1, keepdims=0)]
        return model(nodes, {"x": floats(4, 6)}, {"y": (TensorProto.INT64, [4])}, {})

    report = checked(decided(), decided(node(op, "x", "a")), large)
    assert report.verdict is isomorph.Verdict.EQUIVALENT, report.reason

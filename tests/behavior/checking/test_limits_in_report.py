"""What a limit leaves out is in the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import isomorph
from isomorph import api
from isomorph.causes import attribute, layout
from isomorph.core import limits
from isomorph.localize import (
    fault_chain,
    fault_search,
    input_search,
    reference_spans,
    substitution_order,
)
from isomorph.match import small_constants, value_match, weight_differences
from isomorph.measure import moments, undecided_branches
from isomorph.repair import patch_selection, repair
from weight_pairs import F32, floats, model, node, normal


def checked(reference, candidate, **options):
    return isomorph.check(reference, candidate, in_process=True, **options)


def left_out(report):
    return {each.what for each in report.skipped}


@pytest.fixture
def lowered(monkeypatch):
    def lower(module, name, most):
        limit = getattr(module, name)
        monkeypatch.setattr(module, name, replace(limit, most=most))
        return limit.left_out

    return lower


def layers(*alphas):
    """Products of a layer and its leaky ReLU, one after the other."""
    nodes, constants, last = [], {}, "x"
    for place, alpha in enumerate(alphas):
        constants[f"w{place}"] = normal(6, 6, seed=place)
        end = "y" if place + 1 == len(alphas) else f"r{place}"
        nodes += [
            node("MatMul", f"{last} w{place}", f"h{place}"),
            node("LeakyRelu", f"h{place}", end, alpha=alpha),
        ]
        last = end
    return model(nodes, {"x": floats(4, 6)}, {"y": floats(4, 6)}, constants)


RIGHT = layers(0.1, 0.1, 0.1)
WRONG = layers(0.2, 0.3, 0.1)
X = {"x": normal(4, 6, seed=9)}


def test_without_a_hit_nothing_is_skipped():
    report = checked(RIGHT, WRONG, inputs=X)
    assert len([each for each in report.findings if each.code == "GUILTY_NODE"]) == 2
    assert report.skipped == ()


def test_further_wrong_nodes(lowered):
    what = lowered(fault_chain, "WRONG_NODES", 1)
    report = checked(RIGHT, WRONG, inputs=X)
    assert len([each for each in report.findings if each.code == "GUILTY_NODE"]) == 1
    assert what in left_out(report)


def test_further_substitutions(lowered):
    what = lowered(fault_search, "SUBSTITUTIONS", 0)
    lowered(substitution_order, "SUBSTITUTIONS", 0)
    assert what in left_out(checked(RIGHT, WRONG, inputs=X))


def test_places_farther_behind(lowered):
    what = lowered(fault_search, "DISTANCE", 0)
    assert what in left_out(checked(RIGHT, WRONG, inputs=X))


def test_tensors_behind_a_substitution(lowered):
    what = lowered(fault_search, "TENSORS_BEHIND", 0)
    assert what in left_out(checked(RIGHT, layers(0.2, 0.1, 0.1), inputs=X))


def test_draws_of_a_large_tensor(lowered):
    what = lowered(moments, "DRAWN_BYTES", 1)

    nodes = [node("MatMul", "x w", "h"), node("Floor", "h", "y")]
    constants = {"w": normal(6, 6, seed=1)}
    rounded = model(nodes, {"x": floats(4, 6)}, {"y": floats(4, 6)}, constants)
    report = checked(rounded, rounded, inputs=X)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert what in left_out(report)


def test_open_decisions():
    opened = {f"c{place}": np.array(False) for place in range(6)}
    with limits.noted_limits() as hit:
        undecided_branches.taken_toward(
            lambda taken: {"y": taken["c0"]}, opened, {"y": np.array(True)}
        )
    assert list(hit) == [limits.OPEN_DECISIONS]


def test_weights_of_one_size(lowered):
    what = lowered(weight_differences, "LIKE_WEIGHTS", 1)

    def chain(constants, order):
        nodes, last = [], "x"
        for place, name in enumerate(order):
            end = "y" if place == 2 else f"h{place}"
            nodes.append(node("MatMul", f"{last} {name}", end))
            last = end
        return model(nodes, {"x": floats(4, 6)}, {"y": floats(4, 6)}, constants)

    right = {name: normal(6, 6, seed=place) for place, name in enumerate("abc")}
    wrong = {"p": normal(6, 6, seed=7), "q": right["b"], "r": right["c"]}
    report = checked(chain(right, "abc"), chain(wrong, "pqr"), inputs={"x": np.zeros((4, 6), F32)})
    assert what in left_out(report)


def test_constants_of_one_use(lowered):
    what = lowered(small_constants, "UNPAIRED_USES", 0)

    def scaled(factor):
        nodes = [node("Mul", "x f", "h"), node("Relu", "h", "y")]
        return model(nodes, {"x": floats(4, 6)}, {"y": floats(4, 6)}, {"f": F32(factor)})

    inputs = {"x": -np.ones((4, 6), F32)}
    assert what in left_out(checked(scaled(2), scaled(3), inputs=inputs))
    assert what not in left_out(checked(scaled(2), scaled(2), inputs=inputs))


def test_inputs_that_may_show_a_weight(lowered):
    what = lowered(input_search, "TRIED_WEIGHTS", 1)
    dead = [node("MatMul", "x w", "h"), node("Relu", "h", "r"), node("Mul", "r z", "y")]

    def never(element):
        constants = {"w": normal(6, 6, seed=3), "z": np.zeros(1, F32)}
        constants["w"][2, 3] *= F32(element)
        return model(dead, {"x": floats(4, 6)}, {"y": floats(4, 6)}, constants)

    report = checked(never(1), never(1.5), inputs=X)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert what in left_out(report)


@pytest.mark.parametrize("name", ["STRETCHES", "EQUAL_TENSORS"])
def test_what_may_stand_for_a_node(lowered, name):
    def bent(op):
        nodes = [node("Abs", "x", "a"), node("Exp", "a", "e"), node(op, "e", "y")]
        return model(nodes, {"x": floats(4, 6)}, {"y": floats(4, 6)}, {})

    inputs = {"x": np.abs(X["x"])}
    before = checked(bent("LeakyRelu"), bent("Relu"), inputs=inputs)
    assert "LATENT" in {each.code for each in before.findings}
    assert limits.STRETCHES.left_out not in left_out(before)
    what = lowered(reference_spans, name, 1)
    assert what in left_out(checked(bent("LeakyRelu"), bent("Relu"), inputs=inputs))


def test_orders_of_axes(lowered):
    what = lowered(value_match, "AXIS_ORDERS", 1)
    shape = (2, 2, 2)

    def turned(*order):
        nodes = [node("Exp", "x", "e"), node("Transpose", "e", "t", perm=order),
                 node("Tanh", "t", "y")]  # fmt: skip
        return model(nodes, {"x": floats(*shape)}, {"y": floats(*shape)}, {})

    inputs = {"x": normal(*shape, seed=4)}
    assert what in left_out(checked(turned(1, 0, 2), turned(2, 1, 0), inputs=inputs))


def repaired(reference, candidate, tmp_path):
    for name, each in (("a", reference), ("b", candidate)):
        (tmp_path / f"{name}.onnx").write_bytes(each.SerializeToString())
    return api.fix(tmp_path / "a.onnx", tmp_path / "b.onnx", inputs=X, in_process=True)


@pytest.mark.parametrize(
    ("module", "name"),
    [(repair, "REPAIR_ROUNDS"), (repair, "REPAIR_ATTEMPTS"), (patch_selection, "PROPOSALS")],
)
def test_what_a_repair_did_not_try(lowered, tmp_path, module, name):
    assert repaired(RIGHT, WRONG, tmp_path).repaired
    what = lowered(module, name, 0)
    done = repaired(RIGHT, WRONG, tmp_path)
    assert not done.repaired
    assert any(line.startswith(what) for line in done.refused), done.refused


def test_a_cause_that_was_not_found(lowered):
    what = lowered(attribute, "PARAMETER_TRIALS", 0)
    report = checked(RIGHT, layers(0.2, 0.1, 0.1), inputs=X)
    assert what in left_out(report)


def test_with_a_cause_those_that_were_not_examined_are_not_listed(lowered):
    what = lowered(layout, "INPUT_ORDERS", 0)

    def product(first, second):
        nodes = [node("MatMul", f"{first} {second}", "y")]
        constants = {"w": normal(6, 6, seed=1)}
        return model(nodes, {"x": floats(6, 6)}, {"y": floats(6, 6)}, constants)

    given = {"x": normal(6, 6, seed=2)}
    unknown = checked(product("x", "w"), product("w", "x"), inputs=given)
    assert what in left_out(unknown)
    known = checked(RIGHT, layers(0.2, 0.1, 0.1), inputs=X)
    assert known.findings[0].cause == "attribute"
    assert what not in left_out(known)

"""Suspect constants beyond the limit are reported, and those of few elements are examined."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.limits import MOST_SUSPECT_CONSTANTS
from weight_pairs import F32, floats, model, node, normal, spoiled


def checked(reference, candidate, **options):
    return isomorph.check(reference, candidate, in_process=True, **options)


def differing(report):
    return [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]


def skipped(report):
    return [each for each in report.skipped if each.what == "constants that differ"]


def side_by_side(count, factor):
    """As many products behind a ReLU, each with one element multiplied."""
    nodes, constants, outputs = [], {}, {}
    for place in range(count):
        kernel = np.abs(normal(8, 6, seed=place)) + F32(0.1)
        constants[f"w{place}"] = spoiled(kernel, (2, 3), factor)
        nodes += [
            node("MatMul", f"x w{place}", f"h{place}"),
            node("Relu", f"h{place}", f"y{place}"),
        ]
        outputs[f"y{place}"] = floats(4, 6)
    return model(nodes, {"x": floats(4, 8)}, outputs, constants)


@pytest.mark.parametrize("more", [0, 1])
def test_suspects_beyond_the_limit_are_reported(more):
    count = MOST_SUSPECT_CONSTANTS + more
    sides = side_by_side(count, 1), side_by_side(count, 1.05)
    report = checked(*sides, inputs={"x": -np.ones((4, 8), F32)})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert len(differing(report)) == MOST_SUSPECT_CONSTANTS
    assert len(skipped(report)) == more
    assert all(str(count) in each.why for each in skipped(report))


def test_many_weights_that_no_input_reaches_are_still_others():
    """A fault alone is a fault in company."""

    def shut(factor):
        nodes, constants, outputs = [], {"t": F32(1e9)}, {}
        for place in range(MOST_SUSPECT_CONSTANTS + 1):
            constants[f"w{place}"] = spoiled(normal(8, 6, seed=place), (2, 3), factor)
            nodes += [
                node("MatMul", f"x w{place}", f"h{place}"),
                node("Sub", f"h{place} t", f"s{place}"),
                node("Relu", f"s{place}", f"y{place}"),
            ]
            outputs[f"y{place}"] = floats(4, 6)
        return model(nodes, {"x": floats(4, 8)}, outputs, constants)

    report = checked(shut(1), shut(1.05), inputs={"x": -np.ones((4, 8), F32)})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert len(differing(report)) == MOST_SUSPECT_CONSTANTS
    assert skipped(report)


def steps(factor, limit):
    """Rounded to steps, then a threshold: what small changes do not reach."""
    nodes = [node("Mul", "x f", "h"), node("Round", "h", "r"), node("Greater", "r t", "g"),
             node("Cast", "g", "y", to=1)]  # fmt: skip
    constants = {"f": F32(factor), "t": np.asarray(limit, F32)}
    return model(nodes, {"x": floats(4, 2)}, {"y": floats(4, 2)}, constants)


ZEROS = {"x": np.zeros((4, 2), F32)}


@pytest.mark.parametrize(
    ("other", "constant"),
    [(steps(12, [0.5, 3.5]), "f"), (steps(10, [0.5, 7.5]), "t"), (steps(0, [0.5, 3.5]), "f")],
)
def test_a_changed_constant_of_few_elements_is_shown_by_another_input(other, constant):
    report = checked(steps(10, [0.5, 3.5]), other, inputs=ZEROS)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding,) = differing(report)
    assert finding.evidence["constant"] == constant
    assert finding.status == "confirmed"
    assert "reached_by" in finding.evidence


def test_scalars_that_make_up_for_each_other_are_the_same_function():
    def scaled(first, second):
        nodes = [node("Mul", "x a", "h"), node("Relu", "h", "r"), node("Mul", "r b", "y")]
        constants = {"a": F32(first), "b": F32(second)}
        return model(nodes, {"x": floats(4, 2)}, {"y": floats(4, 2)}, constants)

    report = checked(scaled(2, 3), scaled(4, 1.5), inputs=ZEROS)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def test_a_scalar_that_no_input_shows_decides_nothing():
    """Whole numbers are above 2.25 where they are above 2.5: the counterpart is only a guess."""
    report = checked(steps(10, [0.5, 2.5]), steps(10, [0.5, 2.25]), inputs=ZEROS)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def limited(limit, op="Greater"):
    """A sigmoid against a limit: as a comparison, or cut off there."""
    nodes = [node("Sigmoid", "x", "s"), node(op, "s t", "g"), node("Cast", "g", "y", to=1)]
    constants = {"t": np.asarray(limit, F32)}
    return model(nodes, {"x": floats(1, 2)}, {"y": floats(1, 2)}, constants)


GIVEN = {"x": np.array([[1.5, -0.7]], F32)}


@pytest.mark.parametrize("limit", [0.50001, [0.3, 0.50001]])
def test_a_threshold_that_no_input_hits_is_known_by_what_is_compared(limit):
    right = 0.5 if isinstance(limit, float) else [0.3, 0.5]
    report = checked(limited(right), limited(limit), inputs=GIVEN)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding,) = differing(report)
    assert (finding.node, finding.status) == ("Greater_g", "suspected")


@pytest.mark.parametrize(
    ("right", "wrong", "op"), [(1.5, 2.0, "Greater"), (1.5, 2.0, "Min"), (-3.0, -7.0, "Max")]
)
def test_a_limit_beyond_what_the_data_reaches_is_no_difference(right, wrong, op):
    report = checked(limited(right, op), limited(wrong, op), inputs=GIVEN)
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def test_a_fill_that_a_maximum_covers_is_no_difference():
    """Behind a ReLU a border of 0 and one of -5 have the same maxima."""

    def pooled(fill):
        nodes = [node("Relu", "x", "r"), node("Pad", "r p f", "b"),
                 node("MaxPool", "b", "y", kernel_shape=[2, 2], strides=[2, 2])]  # fmt: skip
        constants = {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "f": F32(fill)}
        return model(nodes, {"x": floats(1, 1, 6, 6)}, {"y": floats(1, 1, 4, 4)}, constants)

    report = checked(pooled(0), pooled(-5), inputs={"x": normal(1, 1, 6, 6)})
    assert report.verdict is isomorph.Verdict.EQUIVALENT


def branches(then, other, *, as_where=False):
    """One of two scales by the sign of the sum; as a branch, or as a selection."""
    outs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("p", "q")]
    first = helper.make_graph([node("Mul", "x a", "p")], "then", [], outs[:1],
                              [numpy_helper.from_array(then, "a")])  # fmt: skip
    second = helper.make_graph([node("Mul", "x b", "s"), node("Tanh", "s", "q")], "else", [],
                               outs[1:], [numpy_helper.from_array(other, "b")])  # fmt: skip
    nodes = [node("ReduceSum", "x", "t", keepdims=0), node("Greater", "t z", "c")]
    constants = {"z": F32(0)}
    if as_where:
        nodes += [node("Mul", "x a", "p"), node("Mul", "x b", "s"), node("Tanh", "s", "q"),
                  node("Where", "c p q", "y")]  # fmt: skip
        constants |= {"a": then, "b": other}
    else:
        nodes.append(node("If", "c", "y", then_branch=first, else_branch=second))
    return model(nodes, {"x": floats(4, then.size)}, {"y": floats(4, then.size)}, constants)


@pytest.mark.parametrize(
    ("size", "as_where"),
    [(1, False), (3, False), (16, False), (40, False), (1, True), (3, True), (16, True)],
)
def test_a_wrong_weight_in_a_branch_that_the_inputs_do_not_take(size, as_where):
    scales = normal(size, seed=1) + 3, normal(size, seed=2) + 3
    inputs = {"x": np.ones((4, size), F32)}
    clean = checked(branches(*scales), branches(*scales, as_where=as_where), inputs=inputs)
    assert clean.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(clean)
    wrong = branches(scales[0], spoiled(scales[1], (0,), 0.5), as_where=as_where)
    report = checked(branches(*scales), wrong, inputs=inputs)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding,) = differing(report)
    assert finding.evidence["constant"] == ("b" if as_where else "If_y/else_branch/b")


@pytest.mark.parametrize(("size", "as_where"), [(3, False), (40, False), (40, True)])
def test_a_wrong_weight_in_a_branch_that_no_input_takes(size, as_where):
    """The sum of squares is never below zero; the numbers themselves say which weight it was."""

    def net(factor, as_where):
        scales = normal(size, seed=1) + 3, spoiled(normal(size, seed=2) + 3, (0,), factor)
        made = branches(*scales, as_where=as_where)
        made.graph.node[0].op_type = "ReduceSumSquare"
        return made

    inputs = {"x": np.ones((4, size), F32)}
    assert not differing(checked(net(1, False), net(1, as_where), inputs=inputs))
    report = checked(net(1, False), net(1.1, as_where), inputs=inputs)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding,) = differing(report)
    assert finding.evidence["difference"] == f"1 of {size} elements, off by 10%"


def test_another_fault_is_not_attributed_to_a_constant_of_a_body():
    """A branch differs where no input goes; what the given input shows is another fault."""

    def net(other, factor):
        made = branches(normal(3, seed=1) + 3, other)
        made.graph.node.append(node("MatMul", "y w", "o"))
        kernel = spoiled(normal(3, 5), (1, 1), factor)
        made.graph.initializer.append(numpy_helper.from_array(kernel, "w"))
        made.graph.output[0].CopyFrom(helper.make_tensor_value_info("o", *floats(4, 5)))
        return made

    wrong = normal(3, seed=2) * 2
    report = checked(net(normal(3, seed=2), 1), net(wrong, 2), inputs={"x": np.ones((4, 3), F32)})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert not [e for e in differing(report) if "If_y" in e.evidence["constant"]]


def test_the_rounding_of_other_numbers_does_not_refute_a_wrong_one():
    """What rounding moves and what one wrong number moves cancel out by chance."""
    random = np.random.default_rng(0)
    table = random.normal(size=(8, 8)).astype(F32)
    # All numbers of a row move the outputs in nearly one direction.
    mixed = (random.normal(size=8) + 0.01 * random.normal(size=(8, 8))).astype(F32)

    def net(rows):
        nodes = [node("Gather", "t x", "h", axis=0), node("MatMul", "h w", "y")]
        constants = {"w": mixed, "t": rows}
        if rows.dtype == np.float16:
            constants["n"] = constants.pop("t")
            nodes.insert(0, node("Cast", "n", "t", to=TensorProto.FLOAT))
        whole = TensorProto.INT64, [1, 3]
        return model(nodes, {"x": whole}, {"y": floats(1, 3, 8)}, constants)

    rounded = table.astype(np.float16)
    errors = (rounded.astype(np.float64) - table) @ mixed
    # The place where a change of one number cancels what the rounding of the others moves.
    shares = errors @ mixed.T / np.sum(mixed.astype(np.float64) ** 2, axis=1)
    relative = np.abs(shares / table)
    row, place = np.unravel_index(np.argmax(relative), relative.shape)
    wrong = rounded.copy()
    wrong[row, place] = np.float16(table[row, place] - shares[row, place])
    found = checked(net(table), net(wrong), inputs={"x": np.array([[row, 0, 1]])})
    assert relative[row, place] > 2**-9
    assert found.verdict is isomorph.Verdict.DIVERGENT
    assert [each.evidence["constant"] for each in differing(found)] == ["n"]

"""Constants that are known by their place in two graphs of the same structure."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import isomorph
from weight_pairs import F32, floats, linear, model, node, normal

SHUT = np.full(4, -1e9, F32)
"""Behind it a ReLU stays shut, whatever is put in."""


def checked(reference, candidate, **options):
    options = {"inputs": {"x": normal(2, 6, seed=3)}, **options}
    return isomorph.check(reference, candidate, in_process=True, **options)


def differing(report):
    return [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]


FIRST, SECOND = normal(6, 5, seed=1), normal(5, 4, seed=2)


def shut(first=FIRST, second=SECOND, scale=1.0, bias=SHUT):
    """The product of two weights behind a ReLU that no input opens, beside the first one."""
    nodes = [
        node("MatMul", "x w1", "a"), node("MatMul", "a w2", "b"), node("Mul", "b s", "m"),
        node("Add", "m b2", "c"), node("Relu", "c", "d"), node("Concat", "x d", "y", axis=1),
    ]  # fmt: skip
    constants = {"w1": first, "w2": second, "s": F32(scale), "b2": bias}
    return model(nodes, {"x": floats(2, 6)}, {"y": floats(2, 10)}, constants)


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (shut(second=SECOND * F32(1.01)), "w2"),
        (shut(second=normal(5, 4, seed=9)), "w2"),
        (shut(scale=0.7), "s"),
        (shut(bias=SHUT * F32(1.2)), None),
    ],
    ids=["all numbers", "other numbers", "one number", "stand-ins for infinity"],
)
def test_the_only_constant_that_differs_counts_though_no_input_shows_it(other, name):
    report = checked(shut(), other)
    assert [each.evidence["constant"] for each in differing(report)] == [name] * (name is not None)
    wanted = isomorph.Verdict.DIVERGENT if name else isomorph.Verdict.EQUIVALENT
    assert report.verdict is wanted
    assert all(each.effect == "latent" for each in differing(report))


def test_weights_that_may_make_up_for_each_other_do_not_count_unseen():
    """A scale was moved to the next weight; a hidden layer was put in another order."""
    moved = shut(first=FIRST * F32(4), second=SECOND / F32(4))
    order = [3, 1, 4, 0, 2]
    permuted = shut(first=FIRST[:, order], second=SECOND[order])
    for other in (moved, permuted):
        report = checked(shut(), other)
        assert report.verdict is isomorph.Verdict.EQUIVALENT
        assert not differing(report)


def test_rounded_weights_that_no_input_shows_are_no_others():
    for rounded in (
        SECOND.astype(np.float16).astype(F32),
        (np.rint(SECOND / (np.abs(SECOND).max() / 127)) * (np.abs(SECOND).max() / 127)).astype(F32),
        (np.rint(SECOND / (np.abs(SECOND).max(0) / 7)) * (np.abs(SECOND).max(0) / 7)).astype(F32),
    ):
        report = checked(shut(), shut(second=rounded))
        assert report.verdict is isomorph.Verdict.EQUIVALENT
        assert not differing(report)


def test_a_table_that_was_computed_again_is_no_other():
    """Sines of large numbers: float32 keeps few of their digits."""
    angles = np.arange(1, 513)[:, None] / np.array([1.0, 3.3, 10.0, 33.0])
    exact, rough = np.sin(angles), np.sin(angles.astype(F32) * F32(1 + 1e-6))
    assert np.abs(exact - rough).max() > 1e-5
    for values, verdict in ((rough, "equivalent"), (exact * 1.1, "divergent")):
        sides = positions(exact), positions(np.concatenate([exact[:6], values[6:]]))
        assert checked(*sides, inputs={"x": normal(1, 6, 4)}).verdict == verdict


def positions(table):
    """A table of which as many rows are used as the input has."""
    nodes = [node("Shape", "x", "s", start=1, end=2), node("Slice", "p z s", "q"),
             node("Add", "x q", "y")]  # fmt: skip
    constants = {"p": table.astype(F32), "z": np.array([0])}
    return model(nodes, {"x": floats(1, 6, 4)}, {"y": floats(1, 6, 4)}, constants)


def test_a_weight_before_which_nothing_differs_counts_where_no_input_moves_its_node():
    """Two tables with other rows behind those that are used; neither is the only one."""

    def both(first, second):
        nodes = [node("Shape", "x", "s", start=1, end=2), node("Slice", "p z s", "q"),
                 node("Slice", "r z s", "t"), node("Add", "x q", "h"),
                 node("Mul", "h t", "y")]  # fmt: skip
        constants = {"p": first, "r": second, "z": np.array([0])}
        return model(nodes, {"x": floats(1, "t", 4)}, {"y": floats(1, "t", 4)}, constants)

    right = normal(64, 4, seed=1), normal(64, 4, seed=2)
    wrong = [np.concatenate([each[:10], normal(54, 4, seed=7)]) for each in right]
    report = checked(both(*right), both(*wrong), inputs={"x": normal(1, 10, 4)})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert [each.evidence["constant"] for each in differing(report)] == ["r", "p"]


def test_an_input_that_reaches_a_weight_is_judged_by_its_run():
    kernel = normal(8, 6)
    close = (kernel * (1 + 1e-5)).astype(F32)
    report = checked(linear(kernel), linear(close), inputs={"x": normal(4, 8)}, budget=1e-2)
    assert report.verdict is isomorph.Verdict.EQUIVALENT


def test_a_ratio_that_inference_does_not_use_is_no_difference():
    def dropped(ratio):
        nodes = [node("Dropout", "x r", "h"), node("Relu", "h", "y")]
        return model(nodes, {"x": floats(2, 6)}, {"y": floats(2, 6)}, {"r": F32(ratio)})

    report = checked(dropped(0.1), dropped(0.5))
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def table(values, kind):
    """Rows of a table that an input selects."""
    shapes = {"i": (TensorProto.INT64, [3])}, {"y": (kind, [3])}
    return model([node("Gather", "t i", "y")], *shapes, {"t": values})


@pytest.mark.parametrize(
    ("values", "other", "kind"),
    [
        (np.arange(50), 2**60, TensorProto.INT64),
        (np.arange(50) % 2 == 0, True, TensorProto.BOOL),
        (np.array([f"word {n}" for n in range(50)], object), "another", TensorProto.STRING),
    ],
    ids=["integers", "truth values", "words"],
)
def test_tables_that_hold_no_floats_are_compared_exactly(values, other, kind):
    wrong = values.copy()
    wrong[41] = other
    inputs = {"i": np.array([1, 2, 3])}
    report = checked(table(values, kind), table(wrong, kind), inputs=inputs)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert [each.evidence["constant"] for each in differing(report)] == ["t"]


def reshaped(sizes, rows):
    """Sizes and rows of which one may be written in two ways."""
    nodes = [node("Reshape", "x n", "r"), node("Gather", "r i", "g", axis=0),
             node("Relu", "g", "y")]  # fmt: skip
    constants = {"n": np.array(sizes), "i": np.array(rows)}
    return model(nodes, {"x": floats(2, 6)}, {"y": floats(2, 4)}, constants)


@pytest.mark.parametrize("other", [([-1, 4], [0, 2]), ([3, 4], [0, -1])])
def test_sizes_and_rows_that_are_written_differently_are_the_same(other):
    report = checked(reshaped([3, 4], [0, 2]), reshaped(*other))
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


INTEGERS = np.arange(-24, 24, dtype=np.int8).reshape(8, 6)
SCALES, ZEROS = np.linspace(0.01, 0.02, 6).astype(F32), np.zeros(6, np.int8)


def on_grid(integers=INTEGERS, scales=SCALES, zeros=ZEROS):
    """A weight on a grid, behind a ReLU that no input opens."""
    nodes = [node("DequantizeLinear", "q s z", "w", axis=1), node("MatMul", "x w", "h"),
             node("Sub", "h t", "c"), node("Relu", "c", "y")]  # fmt: skip
    constants = {"q": integers, "s": scales, "z": zeros, "t": F32(1e9)}
    return model(nodes, {"x": floats(2, 8)}, {"y": floats(2, 6)}, constants)


def changed(values, place, by):
    copy = values.copy()
    copy[place] += values.dtype.type(by)
    return copy


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (on_grid(integers=changed(INTEGERS, (2, 3), 1)), "q"),
        (on_grid(scales=changed(SCALES, 3, 5e-4)), "s"),
        (on_grid(zeros=changed(ZEROS, 3, 2)), "z"),
    ],
)
def test_integers_on_the_same_grid_are_equal_or_others(other, name):
    report = checked(on_grid(), other, inputs={"x": normal(2, 8)})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert [each.evidence["constant"] for each in differing(report)] == [name]


def test_a_mask_that_is_cut_to_size_stands_for_infinity_by_any_large_number():
    def masked(lowest):
        constants = {
            "m": np.where(np.tril(np.ones((9, 9))), 0, lowest).astype(F32),
            "z": np.array([0]),
        }
        nodes = [node("Shape", "x", "s", start=1, end=2), node("Slice", "m z s", "n"),
                 node("Add", "n x", "a"), node("Softmax", "a", "y")]  # fmt: skip
        return model(nodes, {"x": floats("t", 9)}, {"y": floats("t", 9)}, constants)

    report = checked(masked(-1e9), masked(-1e4), inputs={"x": normal(9, 9)})
    assert report.verdict is isomorph.Verdict.EQUIVALENT
    assert not differing(report)


def test_a_table_of_doubles_is_compared_as_doubles():
    values = np.random.default_rng(2).normal(size=50)
    wrong = values.copy()
    wrong[41] *= 1 + 1e-9
    through = values.astype(F32).astype(np.float64)
    finer = np.concatenate([through[:4], values[4:]])
    inputs = {"i": np.array([1, 2, 3])}
    pairs = {"divergent": (values, wrong), "equivalent": (through, finer)}
    for verdict, sides in pairs.items():
        made = [table(each, TensorProto.DOUBLE) for each in sides]
        assert checked(*made, inputs=inputs).verdict == verdict


def test_a_table_that_was_filled_up_is_compared_in_the_rows_it_had():
    values = normal(50)
    padded = np.concatenate([values, np.zeros(14, F32)])
    wrong = padded.copy()
    wrong[41] += 1
    inputs = {"i": np.array([1, 2, 3])}
    for other, verdict in ((padded, "equivalent"), (wrong, "divergent")):
        sides = [table(each, TensorProto.FLOAT) for each in (values, other)]
        report = checked(*sides, inputs=inputs)
        assert report.verdict == verdict
        assert len(differing(report)) == (verdict == "divergent")


def test_a_constant_that_a_cast_makes_of_another_type_is_no_other_structure():
    """The positions of all other constants still identify them."""

    def net(rows, *, wide=False):
        nodes = [node("Add", "x b", "h"), node("Hardmax", "h", "m"), node("Gather", "m i", "y")]
        nodes[2].attribute.append(helper.make_attribute("axis", 1))
        constants = {"b": normal(6, seed=4), "i": np.array(rows, np.int64)}
        if wide:
            constants["d"] = constants.pop("b").astype(np.float64)
            nodes.insert(0, node("Cast", "d", "b", to=TensorProto.FLOAT))
        return model(nodes, {"x": floats(2, 6)}, {"y": floats(2, 4)}, constants)

    largest = {"x": np.eye(6, dtype=F32)[[2, 3]] * F32(50)}
    reference = net([2, 3, 3, 0])
    assert checked(reference, net([2, 3, 3, 0], wide=True), inputs=largest).verdict is (
        isomorph.Verdict.EQUIVALENT
    )
    report = checked(reference, net([2, 3, 3, 1], wide=True), inputs=largest)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert [each.evidence["constant"] for each in differing(report)] == ["i"]

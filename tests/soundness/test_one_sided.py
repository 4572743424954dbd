"""What only one of two models does is found, although the given inputs do not show it."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import isomorph
from isomorph.core.report import Fact
from unreached import F32, model, node

X = np.abs(np.random.default_rng(0).normal(size=(2, 6))).astype(np.float32) + 0.1
READS, GIVES = {"x": (F32, (2, 6))}, {"y": (F32, (2, 6))}
INT = np.dtype(np.int64)


def says(reference, candidate, inputs, **options):
    made = isomorph.CheckOptions(**options)
    report = isomorph.check(reference, candidate, inputs=inputs, in_process=True, options=made)
    return report.verdict.value, report


# An input that one model ignores.


def masked(*, read, declared=True):
    inputs = {**READS, "m": (np.dtype(np.bool_), (2, 6))} if declared else READS
    nodes = (
        [node("Where", "m x z", "y")] if read else [node("Neg", "x", "a"), node("Neg", "a", "y")]
    )
    return model(nodes, inputs, GIVES, {"z": np.float32(0)} if read else {})


EVERYTHING = {"x": X, "m": np.ones((2, 6), bool)}


@pytest.mark.parametrize("declared", [True, False])
def test_a_mask_that_was_frozen_is_found(declared):
    verdict, report = says(masked(read=True), masked(read=False, declared=declared), EVERYTHING)
    assert verdict == "divergent"
    assert "input 'm' is read by the reference and not by the candidate" in report.reason
    [found] = [each for each in report.findings if each.code == "LATENT"]
    assert found.cause == "interface"
    assert found.reference_nodes == ("Where_y",)
    assert found.fact(Fact.INPUTS) is not None


def test_an_input_that_only_the_candidate_reads_is_found():
    verdict, report = says(masked(read=False), masked(read=True), EVERYTHING)
    assert verdict == "divergent"
    assert "read by the candidate and not by the reference" in report.reason


def test_the_given_inputs_alone_decide_where_only_they_count():
    given = says(masked(read=True), masked(read=False), EVERYTHING, only_given=True)
    assert given[0] == "equivalent"
    assert "function" not in given[1].reason, "it is another one, and a finding says so"
    assert [each.code for each in given[1].findings] == ["LATENT"]


def lengths(*, read):
    reads = {"x": (F32, (4, 1, 2)), "n": (np.dtype(np.int32), (1,))}
    random = np.random.default_rng(3)
    weights = {
        "w": random.normal(size=(1, 9, 2)).astype(np.float32),
        "r": random.normal(size=(1, 9, 3)).astype(np.float32),
    }
    gru = helper.make_node(
        "GRU", ["x", "w", "r", *(["", "n"] if read else [])], ["", "h"], name="gru", hidden_size=3
    )
    return model([gru], reads, {"h": (F32, (1, 1, 3))}, weights)


def test_lengths_that_the_candidate_ignores_are_found():
    given = {
        "x": np.random.default_rng(4).normal(size=(4, 1, 2)).astype(np.float32),
        "n": np.array([4], np.int32),
    }
    assert says(lengths(read=True), lengths(read=False), given)[0] == "divergent"


def test_an_input_without_effect_is_listed_and_makes_no_other_function():
    reads = {**READS, "m": (F32, (2, 6))}
    zero = [node("Mul", "m z", "p"), node("Add", "x p", "y")]
    reference = model(zero, reads, GIVES, {"z": np.float32(0)})
    candidate = model([node("Identity", "x", "y")], reads, GIVES, {})
    verdict, report = says(reference, candidate, {"x": X, "m": X})
    assert verdict == "equivalent"
    [listed] = [each for each in report.skipped if each.what == "inputs that one model ignores"]
    assert "input 'm' is read by the reference and not by the candidate" in listed.why


# A decision that one model makes alone.


def guarded(*, guard):
    after = [node("IsNaN", "a", "n"), node("Where", "n z a", "y")]
    plain = [node("Neg", "a", "b"), node("Neg", "b", "y")]
    constants = {"z": np.float32(0)} if guard else {}
    return model([node("Log", "x", "a"), *(after if guard else plain)], READS, GIVES, constants)


def chosen(*, frozen):
    compared = [] if frozen else [node("Greater", "x zero", "c")]
    constants = {"c": np.ones((2, 6), bool)} if frozen else {"zero": np.float32(0)}
    nodes = [*compared, node("Where", "c x less", "y")]
    return model(nodes, READS, GIVES, {**constants, "less": np.float32(-1)})


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (guarded(guard=False), guarded(guard=True)),
        (guarded(guard=True), guarded(guard=False)),
        (chosen(frozen=False), chosen(frozen=True)),
    ],
    ids=["guard added", "guard lost", "decision frozen"],
)
def test_a_decision_that_the_given_inputs_never_make_is_found(reference, candidate):
    verdict, report = says(reference, candidate, {"x": X})
    assert verdict == "divergent", report.reason
    assert {each.cause for each in report.findings if each.code == "LATENT"} == {"control_flow"}


def leaky(op):
    """The same function, with a selection."""
    chooses = [node("Mul", "x a", "s"), node(op, "x z", "c"), node("Where", "c x s", "y")]
    return model(chooses, READS, GIVES, {"a": np.float32(0.1), "z": np.float32(0)})


@pytest.mark.parametrize("op", ["Greater", "GreaterOrEqual"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_selection_that_spells_an_activation_is_no_finding(op, sign):
    plain = model([node("LeakyRelu", "x", "y", alpha=0.1)], READS, GIVES, {})
    verdict, report = says(plain, leaky(op), {"x": np.float32(sign) * X})
    assert verdict == "equivalent", report.reason
    assert not [each for each in report.findings if each.code == "LATENT"]


# Ties, limits beyond the usual data, and integers below zero.


def compared(op):
    nodes = [node(op, "x z", "c"), node("Where", "c x less", "y")]
    return model(nodes, READS, GIVES, {"z": np.float32(0), "less": np.float32(-1)})


def bounded(limit):
    nodes = [node("Min", "x b", "y")] if limit else [node("Identity", "x", "y")]
    return model(nodes, READS, GIVES, {"b": np.float32(limit)} if limit else {})


def whole(integers):
    nodes = [node("Cast", "x", "a", to=integers), node("Cast", "a", "y", to=TensorProto.FLOAT)]
    return model(nodes, READS, GIVES, {})


def rounded(*, half_up):
    up = [node("Add", "x h", "a"), node("Floor", "a", "y")]
    nodes = up if half_up else [node("Round", "x", "y")]
    return model(nodes, READS, GIVES, {"h": np.float32(0.5)} if half_up else {})


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (compared("Greater"), compared("GreaterOrEqual")),
        (bounded(1e4), bounded(None)),
        (rounded(half_up=False), rounded(half_up=True)),
        (whole(TensorProto.INT64), whole(TensorProto.INT16)),
    ],
    ids=["tie", "large limit", "halves", "narrow integers"],
)
def test_values_that_no_usual_input_has_are_tried(reference, candidate):
    verdict, report = says(reference, candidate, {"x": X})
    assert verdict == "divergent", report.reason


def divided(*, by_remainder):
    floored = [node("Mod", "x d", "r"), node("Sub", "x r", "s"), node("Div", "s d", "y")]
    nodes = floored if by_remainder else [node("Div", "x d", "y")]
    return model(nodes, {"x": (INT, (4,))}, {"y": (INT, (4,))}, {"d": np.array([3])})


def test_integers_below_zero_are_tried():
    given = {"x": np.array([3, 7, 8, 9])}
    sides = divided(by_remainder=False), divided(by_remainder=True)
    assert says(*sides, given)[0] == "divergent"
    assert says(sides[1], sides[1], given)[0] == "equivalent"


def relu6(*, split):
    bounds = {"lo": np.float32(0), "hi": np.float32(6)}
    if not split:
        return model([node("Clip", "x lo hi", "y")], READS, GIVES, bounds)
    nodes = [node("Relu", "x", "a"), node("Min", "a hi", "y")]
    return model(nodes, READS, GIVES, {"hi": np.float32(6)})


def test_half_of_a_node_is_no_finding_where_the_next_one_does_the_rest():
    verdict, report = says(relu6(split=False), relu6(split=True), {"x": X})
    assert verdict == "equivalent"
    assert not [each for each in report.findings if each.code == "LATENT"]


# Functions of the model.


def called(alpha, op="LeakyRelu"):
    attributes = {"alpha": alpha} if op == "LeakyRelu" else {}
    opsets = [helper.make_opsetid("", 20)]
    inner = helper.make_node(op, ["a"], ["b"], name="inner", **attributes)
    function = helper.make_function("own", "Act", ["a"], ["b"], [inner], opsets)
    call = helper.make_node("Act", ["x"], ["y"], name="call", domain="own")
    made = model([call], READS, GIVES, {})
    made.functions.append(function)
    made.opset_import.append(helper.make_opsetid("own", 1))
    return made


@pytest.mark.parametrize("other", [(0.2, "LeakyRelu"), (0.0, "Abs")], ids=["attribute", "operator"])
def test_what_a_function_does_on_other_inputs_is_compared(other):
    assert says(called(0.1), called(*other), {"x": X})[0] == "divergent"
    assert says(called(0.1), called(0.1), {"x": X})[0] == "equivalent"


# Constants.


def two_weights(*, merged, error):
    random = np.random.default_rng(8)
    first = random.normal(size=(6, 6)).astype(np.float32)
    hidden = np.maximum(X @ first, 0.0)
    second = first.copy()
    second[int(np.argmin(hidden.max(axis=0))), 2] += np.float32(error)
    nodes = [
        node("MatMul", "x w", "h"), node("Relu", "h", "r"),
        node("MatMul", "r w" if merged else "r v", "s"), node("Relu", "s", "y"),
    ]  # fmt: skip
    return model(nodes, READS, GIVES, {"w": first} if merged else {"w": first, "v": second})


def test_two_weights_that_were_merged_and_differ_in_one_element_are_found():
    verdict, report = says(
        two_weights(merged=False, error=0.1), two_weights(merged=True, error=0.1), {"x": X}
    )
    assert verdict == "divergent", report.reason
    [found] = [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]
    assert (found.node, found.reference_nodes) == ("MatMul_s", ("MatMul_s",))
    assert "a constant of its own" in found.fix


def test_equal_weights_may_be_merged():
    sides = two_weights(merged=False, error=0.0), two_weights(merged=True, error=0.0)
    assert says(*sides, {"x": X})[0] == "equivalent"


def compares_with(op, numbers):
    nodes = [node(op, "x c", "y")]
    return model(nodes, {"x": (INT, (4,))}, {"y": (np.dtype(np.bool_), (4,))}, {"c": numbers})


@pytest.mark.parametrize("op", ["Equal", "Greater", "LessOrEqual"])
@pytest.mark.parametrize("base", [1000, 2**60])
def test_an_integer_that_is_off_by_one_is_found_however_large_it_is(op, base):
    right, wrong = np.array([base, 2, 3, 4]), np.array([base + 1, 2, 3, 4])
    given = {"x": np.array([1, 2, 3, 9])}
    verdict, report = says(compares_with(op, right), compares_with(op, wrong), given)
    assert verdict == "divergent", report.reason


def test_an_axis_may_be_counted_from_the_end_in_another_integer_type():
    def summed(axis):
        return model([node("CumSum", "x a", "y")], READS, GIVES, {"a": axis})

    assert says(summed(np.int64(1)), summed(np.int32(-1)), {"x": X})[0] == "equivalent"
    assert says(summed(np.int64(1)), summed(np.int32(0)), {"x": X})[0] == "divergent"


def scaled_down(alpha):
    nodes = [node("LeakyRelu", "x", "a", alpha=alpha), node("Mul", "a k", "y")]
    return model(nodes, READS, GIVES, {"k": np.float32(1e-9)})


def test_small_outputs_show_a_difference_as_large_ones_do():
    assert says(scaled_down(0.1), scaled_down(0.2), {"x": X})[0] == "divergent"


def stepped(*, offset):
    """Thirds, rounded up: of 3 it is 1 or 2, as float32 rounds the product."""
    added = [node("Add", "x o", "a")] if offset else [node("Identity", "x", "a")]
    constants = {"k": np.float32(1 / 3)}
    if offset:
        constants["o"] = np.where(np.arange(12) == 2, np.float32(3), np.float32(0)).reshape(2, 6)
    return model([*added, node("Mul", "a k", "b"), node("Ceil", "b", "y")], READS, GIVES, constants)


def test_a_jump_of_the_size_of_the_difference_explains_nothing():
    x = X.copy()
    x[0, 2] = 0
    verdict, report = says(stepped(offset=False), stepped(offset=True), {"x": x})
    assert verdict == "divergent", report.reason
    assert says(stepped(offset=True), stepped(offset=True), {"x": x})[0] == "equivalent"

"""Faithful rewrites that differ on inputs that nobody gave, where numbers overflow or are none.

A search tries larger, negated and generated inputs. Two spellings of one function differ there in
what they can compute: none of these pairs may be divergent.
"""

import numpy as np
import pytest
from onnx import parser

import isomorph

CONSTANTS = """
float one = {1}, float two = {2}, float half = {0.5}, float zero = {0}, int64[1] last = {-1},
int64[1] five = {5}
"""
DRAWN = np.random.default_rng(3).normal(size=(2, 8)).astype(np.float32)
POSITIVE = np.abs(DRAWN) + np.float32(0.5)
GIVEN = {
    "small": DRAWN,
    "large": DRAWN * np.float32(10),
    "positive": POSITIVE,
    "very negative": POSITIVE * np.float32(-24),
}
NAIVE = "e = Exp(x) s = ReduceSum(e, last) y = Div(e, s)"
LABEL, FIVE = "int64[2,1] y", "int64[2,5] y"


def model(body, output="float[2,8] y"):
    text = f'<ir_version: 9, opset_import: ["" : 20]> g (float[2,8] x) => ({output}) <{CONSTANTS}>'
    made = parser.parse_model(f"{text} {{ {body} }}")
    for place, node in enumerate(made.graph.node):
        node.name = f"{node.op_type}_{place}"
    return made


FAITHFUL = {
    "softmax without its maximum": ("y = Softmax(x)", NAIVE),
    "softmax by a logarithm": (
        "y = Softmax(x)", "e = Exp(x) s = ReduceSum(e, last) l = Log(s) d = Sub(x, l) y = Exp(d)",
    ),
    "logarithm of a softmax": ("y = LogSoftmax(x)", "s = Softmax(x) y = Log(s)"),
    "softplus": ("y = Softplus(x)", "e = Exp(x) a = Add(e, one) y = Log(a)"),
    "sigmoid by a quotient": ("y = Sigmoid(x)", "e = Exp(x) a = Add(e, one) y = Div(e, a)"),
    "tanh by exponentials": (
        "y = Tanh(x)",
        "z = Mul(x, two) e = Exp(z) a = Add(e, one) b = Sub(e, one) y = Div(b, a)",
    ),
    "quotient of exponentials": (
        "m = ReduceMax(x, last) d = Sub(x, m) y = Exp(d)",
        "m = ReduceMax(x, last) e = Exp(x) f = Exp(m) y = Div(e, f)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("given", ["small", "large", "very negative"])
@pytest.mark.parametrize("rewrite", FAITHFUL)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_what_overflows_on_larger_inputs_alone_is_the_same_function(rewrite, given, swapped):
    assert_same(FAITHFUL[rewrite], GIVEN[given], swapped=swapped)


LABELS = {
    f"{op} before {decides}": (f"s = {op}(x) {second}", first, output)
    for op in ("Softmax", "Sigmoid", "Tanh")
    for decides, first, output in (
        ("ArgMax", "y = ArgMax<axis = -1>(x)", LABEL),
        ("TopK", "v, y = TopK<axis = -1>(x, five)", FIVE),
    )
    for second in [first.replace("(x", "(s")]
}


@pytest.mark.parametrize("given", ["small", "large"])
@pytest.mark.parametrize("rewrite", LABELS)
def test_an_increasing_function_before_a_decision_may_be_left_out(rewrite, given):
    """Large inputs saturate it, and then the decision has ties even in float64."""
    reference, candidate, output = LABELS[rewrite]
    assert_same((reference, candidate), GIVEN[given], output=output)


OF_POSITIVE_NUMBERS = {
    "logarithm of a square": ("b = Log(x) y = Mul(b, two)", "a = Mul(x, x) y = Log(a)"),
    "difference of logarithms": (
        "m = ReduceMax(x, last) d = Div(x, m) y = Log(d)",
        "m = ReduceMax(x, last) a = Log(x) b = Log(m) y = Sub(a, b)",
    ),
    "product of roots": (
        "m = ReduceMax(x, last) a = Sqrt(x) b = Sqrt(m) y = Mul(a, b)",
        "m = ReduceMax(x, last) b = Mul(x, m) y = Sqrt(b)",
    ),
}


@pytest.mark.parametrize("rewrite", OF_POSITIVE_NUMBERS)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_a_rewrite_for_positive_numbers_is_not_held_against_negative_ones(rewrite, swapped):
    assert_same(OF_POSITIVE_NUMBERS[rewrite], POSITIVE, swapped=swapped)


@pytest.mark.parametrize("op", ["Log", "Sqrt"])
def test_a_label_of_logarithms_is_not_held_against_negative_numbers(op):
    bodies = f"s = {op}(x) y = ArgMax<axis = -1>(s)", "y = ArgMax<axis = -1>(x)"
    assert_same(bodies, POSITIVE, output=LABEL)


def test_a_limit_that_is_lost_before_a_logarithm_is_found():
    """Where a node differs, a candidate without a number on usual inputs shows it."""
    report = checked("a = Max(x, half) y = Log(a)", "y = Log(x)", POSITIVE)
    assert report.verdict is isomorph.Verdict.DIVERGENT


def test_a_reference_that_overflows_on_the_given_inputs_leaves_it_unknown():
    report = checked(NAIVE, "y = Softmax(x)", DRAWN * np.float32(30))
    assert report.verdict is isomorph.Verdict.UNKNOWN, report.reason


def checked(reference, candidate, given, output="float[2,8] y"):
    sides = model(reference, output), model(candidate, output)
    return isomorph.check(*sides, inputs={"x": given}, in_process=True)


def assert_same(bodies, given, *, swapped=False, output="float[2,8] y"):
    report = checked(*(bodies[::-1] if swapped else bodies), given, output)
    assert report.verdict is isomorph.Verdict.EQUIVALENT, report.reason

"""What a graph computes among constants: an expression where it rounds, else its value."""

import numpy as np
import pytest
from onnx import parser

from isomorph.proof.static_expressions import as_expressions
from spelled_values import side_of

CONSTANTS = """float[3] angles = {0.1, 0.7, 1.3}, float[3] whole = {1, 2, 4}, float tenth = {0.1},
    float two = {2}, int64[3] counts = {1, 2, 3}"""
FEEDS = {"x": np.ones(3, np.float32)}


def side(body):
    text = (f'<ir_version: 10, opset_import: ["": 21]> g (float[3] x) => (float[3] y) '
            f"<{CONSTANTS}> {{ {body} y = Add(x, c) }}")  # fmt: skip
    made, _ = side_of(parser.parse_model(text), FEEDS)
    made.expressions = True
    return made


def expression(made, place=0):
    return as_expressions(made, made.graph.nodes[place])


def test_a_function_of_constants_is_an_expression():
    made = side("c = Cos(angles)")
    (term,) = expression(made)
    assert (term.op, term.attrs[0], term.static) == ("function", "cos", True)
    assert made.terms_of["c"] is term
    assert 0 <= made.static_rounding < 4e-7


def test_how_far_the_value_is_off_is_noted():
    made = side("c = Cos(angles)")
    value = made.values["c"].astype(np.float32)
    made.values = {"c": np.nextafter(value, np.float32(2))}
    assert expression(made) is not None
    assert made.static_rounding > 2.0**-25


def test_without_being_asked_for_its_value_stands_for_it():
    made = side("c = Cos(angles)")
    made.expressions = False
    assert expression(made) is None
    assert made.read("c").op == "constant"


@pytest.mark.parametrize("body", ["c = Mul(whole, two)", "c = Neg(angles)", "c = Identity(angles)"])
def test_what_is_exact_is_its_value(body):
    made = side(body)
    assert expression(made) is None
    assert "c" not in made.terms_of


def test_whole_numbers_are_their_values():
    made = side("n = Add(counts, counts) c = Cast<to=1>(n)")
    assert expression(made) is None


def test_an_operator_whose_value_differs_between_runs_is_not_asked():
    made = side("c = Dropout(angles)")
    made.values = {"c": made.constant("angles")}
    assert expression(made) is None


def test_a_value_that_no_rounding_explains_is_no_expression():
    made = side("c = Cos(angles)")
    made.values = {"c": made.values["c"] * (1 + 1e-5)}
    assert expression(made) is None
    assert "c" not in made.terms_of


def test_an_expression_of_an_expression_has_both():
    made = side("a = Mul(angles, tenth) c = Cos(a)")
    (inner,) = expression(made)
    (outer,) = expression(made, 1)
    assert inner.op == "mul"
    assert outer.inputs == (inner,)


def test_where_an_expression_does_not_fit_its_operands_are_values():
    made = side("a = Mul(angles, tenth) c = Cos(a)")
    expression(made)
    # Another sum of the operand, as far from its expression as its cosine then is.
    moved = made.values["a"] * (1 + 1e-3)
    made.values = {"a": moved, "c": np.cos(moved.astype(np.float64)).astype(np.float32)}
    (outer,) = expression(made, 1)
    assert outer.inputs[0].op == "constant"
    np.testing.assert_array_equal(outer.inputs[0].value(), moved.astype(np.float32))

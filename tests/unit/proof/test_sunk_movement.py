"""Movement behind what is computed: the same numbers, and one term for both orders of axes."""

import numpy as np
import pytest

from isomorph.proof import spelling as spell
from isomorph.proof.real import evaluated
from isomorph.proof.terms import Terms

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(2, 3, 4, 5)), RNG.normal(size=(2, 3, 4, 5))
LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
VECTOR = RNG.normal(size=3)

CASES = {
    "sum of two": (lambda t, x, y: t.add(x, y), lambda x, y: x + y),
    "with a vector": (
        lambda t, x, y: t.mul(t.add(x, t.constant(VECTOR, "float64")), y),
        lambda x, y: (x + VECTOR) * y,
    ),
    "with a number": (
        lambda t, x, _: spell.relu(t, t.add(x, t.number(0.5, "float64"))),
        lambda x, _: np.maximum(x + 0.5, 0.0),
    ),
    "function in order": (
        lambda t, x, y: t.function("pow", (spell.unary(t, "exp", x), y)),
        lambda x, y: np.exp(x) ** y,
    ),
    "sum over axes": (lambda t, x, _: t.sum(x, (2,)), lambda x, _: x.sum(axis=2)),
    "mean that keeps": (
        lambda t, x, _: spell.mean(t, x, (1, 2), kept=True),
        lambda x, _: x.mean(axis=(1, 2), keepdims=True),
    ),
    "slice": (lambda t, x, _: t.slice(x, 2, 4, 2, -3), lambda x, _: x[:, :, [4, 1]]),
    "border": (
        lambda t, x, _: t.pad(x, (0, 1, 0, 2), (0, 0, 3, 0), t.number(7.0, "float64")),
        lambda x, _: np.pad(x, ((0, 0), (1, 0), (0, 3), (2, 0)), constant_values=7.0),
    ),
    "concatenation": (lambda t, x, y: t.concat([x, y], 3), lambda x, y: np.concatenate([x, y], 3)),
    "division": (
        lambda t, x, y: t.div(x, t.add(t.mul(y, y), t.number(1.0, "float64"))),
        lambda x, y: x / (y * y + 1.0),
    ),
}  # fmt: skip


def made(terms, name):
    x, y = (terms.transpose(terms.input(each, X.shape, "float64"), LAST) for each in "xy")
    return CASES[name][0](terms, x, y)


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_the_same(name):
    term = made(Terms(), name)
    wanted = CASES[name][1](X.transpose(LAST), Y.transpose(LAST))
    np.testing.assert_allclose(evaluated(term, {"x": X, "y": Y}), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in CASES if name != "mean that keeps"])
def test_the_transposition_is_the_last_step(name):
    term = made(Terms(), name)
    assert term.op == "transpose"
    assert all(each.op != "transpose" for each in term.inputs)


def test_channels_last_and_channels_first_are_one_term():
    terms = Terms()
    x = terms.input("x", X.shape, "float64")
    bias = terms.constant(VECTOR, "float64")
    first = spell.relu(terms, terms.add(x, spell.along_channels(terms, bias, 4)))
    last = spell.relu(terms, terms.add(terms.transpose(x, LAST), bias))
    assert terms.transpose(last, FIRST) is first


def test_different_orders_do_not_sink():
    terms = Terms()
    x = terms.input("x", (3, 3), "float64")
    term = terms.add(terms.transpose(x, (1, 0)), x)
    assert term.op == "add"
    square = RNG.normal(size=(3, 3))
    np.testing.assert_allclose(evaluated(term, {"x": square}), square.T + square)


def test_axes_of_size_one_that_are_inserted_sink():
    terms = Terms()
    x = terms.input("x", (2, 3), "float64")
    wide = terms.reshape(x, (2, 1, 1, 3))
    term = spell.relu(terms, terms.mul(wide, terms.constant(VECTOR, "float64")))
    assert term is terms.reshape(
        spell.relu(terms, terms.mul(x, terms.constant(VECTOR.reshape(1, 3), "float64"))),
        (2, 1, 1, 3),
    )
    value = RNG.normal(size=(2, 3))
    np.testing.assert_allclose(
        evaluated(term, {"x": value}), np.maximum(value * VECTOR, 0).reshape(2, 1, 1, 3)
    )


def test_a_reshape_that_moves_elements_stays_before():
    terms = Terms()
    x = terms.input("x", (2, 3), "float64")
    term = terms.mul(terms.reshape(x, (3, 2)), terms.constant(np.array([1.0, 2.0]), "float64"))
    assert term.op == "mul"


def test_a_broadcast_beside_the_reshape_stays_before():
    terms = Terms()
    x, y = terms.input("x", (3,), "float64"), terms.input("y", (4, 3), "float64")
    term = terms.add(terms.reshape(x, (1, 3)), terms.reshape(y, (4, 3)))
    values = {"x": RNG.normal(size=3), "y": RNG.normal(size=(4, 3))}
    np.testing.assert_allclose(evaluated(term, values), values["x"] + values["y"])

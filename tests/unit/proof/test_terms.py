"""Equal expressions are one term; what cannot be spelled is refused."""

import numpy as np
import pytest

from isomorph.proof.term import NoMeaningError
from isomorph.proof.terms import Terms


@pytest.fixture
def t():
    return Terms()


def x_of(t, *shape, dtype="float32"):
    return t.input("x", shape, dtype)


def test_equal_expressions_are_one_object(t):
    x, y = x_of(t, 2, 3), t.input("y", (2, 3), "float32")
    assert t.add(x, y) is t.add(y, x)
    assert t.sub(x, y) is not t.sub(y, x)
    assert t.transpose(t.transpose(x, (1, 0)), (1, 0)) is x
    assert t.reshape(t.reshape(x, (3, 2)), (2, 3)) is x
    assert t.neg(t.neg(x)) is x


def test_moved_constants_are_the_constants_that_the_other_side_stores(t):
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    moved = t.transpose(t.constant(value, "float32"), (1, 0))
    assert moved is t.constant(value.T.copy(), "float32")


def test_neighboring_constants_are_different_terms(t):
    one = t.constant(np.float32(1), "float32")
    assert one is not t.constant(np.nextafter(np.float32(1), np.float32(2)), "float32")
    assert one is not t.constant(np.float64(1), "float64")


def test_a_static_factor_moves_into_the_weights(t):
    x = x_of(t, 1, 2, 5, 5)
    w = t.constant(np.ones((3, 2, 3, 3)), "float32")
    factor = t.constant(np.arange(1.0, 4.0).reshape(1, 3, 1, 1), "float32")
    folded = t.mul(t.conv(x, w, (1, 1), (1, 1), 1), factor)
    assert folded.op == "conv"
    assert folded.inputs[0] is x
    assert folded.inputs[1].static
    spatial = t.constant(np.arange(9.0).reshape(1, 1, 3, 3), "float32")
    assert t.mul(t.conv(x, w, (1, 1), (1, 1), 1), spatial).op == "mul"


def test_infinite_constants_swallow_only_their_own_elements(t):
    x = x_of(t, 4)
    mask = t.constant(np.array([0.0, 0.0, -np.inf, -np.inf]), "float32")
    masked = t.add(x, mask)
    assert masked.op == "select"
    assert not masked.finite
    assert masked.inputs[0] is x
    assert t.mul(masked, t.number(0.0, "float32")).attrs[0] == "mul of infinite"
    with pytest.raises(NoMeaningError):
        t.add(x, t.constant(np.array([np.nan, 0, 0, 0]), "float32"))


def test_a_term_that_is_proven_equal_is_replaced_in_what_follows(t):
    x, y = x_of(t, 2), t.input("y", (2,), "float32")
    t.equal[y.id] = x
    assert t.function("exp", (y,)) is t.function("exp", (x,))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.add(x_of(t, 2, dtype="int32"), x_of(t, 2, dtype="int32")),
        lambda t: t.add(x_of(t, 2), t.input("y", (2,), "float64")),
        lambda t: t.matmul(x_of(t, 2, 3), t.input("y", (2, 3), "float32")),
        lambda t: t.inverse(t.constant(np.array([1.0, 0.0]), "float32")),
        lambda t: t.take(x_of(t, 3), 0, np.array([3])),
        lambda t: t.reshape(x_of(t, 3), (2, 2)),
        lambda t: t.slice(x_of(t, 3), 0, 2, 2),
        lambda t: t.largest(x_of(t, 3), (0,), np.ones(3, bool)),
        lambda t: x_of(t, 3).value(),
    ],
)
def test_what_does_not_fit_is_refused(t, make):
    with pytest.raises(NoMeaningError):
        make(t)


def test_a_number_that_halves_do_not_hold_is_kept():
    terms = Terms()
    small, none = terms.number(1e-9, "float16"), terms.number(0.0, "float16")
    assert small is not none
    assert float(small.value()) == float(np.float32(1e-9))
    spread = terms.expand(small, (2,))
    assert spread.value().tolist() == [float(np.float32(1e-9))] * 2
    assert terms.number(0.5, "float16") is terms.constant(np.array(0.5, np.float16), "float16")

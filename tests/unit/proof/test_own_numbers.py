"""What a side may compute itself is not what a constant of it stands for."""

import numpy as np
import pytest

from isomorph.core.digest import constant_of
from isomorph.proof.own_numbers import OwnNumbers
from isomorph.proof.terms import Terms

VECTOR = np.array([1.1, 2.2, 3.3], np.float32)


def own(values=None, terms=(), **arrays):
    constants = {name: constant_of(name, array) for name, array in arrays.items()}
    return OwnNumbers(constants, arrays.__getitem__, values or {}, lambda: terms)


@pytest.fixture
def t():
    return Terms()


def test_constants_in_any_order_and_computed_ones_count(t):
    halved = t.mul(t.constant(VECTOR, "float32"), t.number(0.1, "float32"))
    assert own(v=VECTOR[::-1].reshape(3, 1)).may_compute(halved)
    assert own(values={"v": VECTOR}).may_compute(halved)
    assert not own(v=VECTOR + 1).may_compute(halved)


def test_single_numbers_count_where_something_near_is_computed(t):
    x = t.input("x", (3,), "float32")
    six, three = t.number(6.0, "float32"), t.number(3.0, "float32")
    sixth = t.inverse(six)
    clipped = t.maximum(x, six)
    assert not own(terms=[clipped], six=np.float32(6)).may_compute(sixth)
    assert own(terms=[clipped, t.mul(x, sixth)], six=np.float32(6)).may_compute(sixth)
    twice = t.mul(t.inverse(three), t.number(0.5, "float32"))
    assert own(terms=[t.mul(x, twice)]).may_compute(sixth)
    assert not own(terms=[t.mul(x, t.inverse(three))]).may_compute(sixth)


def test_a_number_that_cannot_be_bounded_may_be_any(t):
    x = t.input("x", (3,), "float32")
    unknown = t.function("round", (t.number(0.3, "float32"),))
    sixth = t.inverse(t.number(6.0, "float32"))
    assert own(terms=[t.mul(x, unknown)]).may_compute(sixth)

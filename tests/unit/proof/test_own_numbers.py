"""What a side may compute itself is not what a constant of it stands for."""

import numpy as np
import pytest

from isomorph.core.digest import constant_of
from isomorph.proof.own_numbers import OwnNumbers, repeated_numbers
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


def test_further_numbers_that_fit_may_cancel():
    value, bound = VECTOR.astype(np.float64), (VECTOR.astype(np.float64), np.full(3, 1e-7))
    near, far = VECTOR + np.float32(1e-7), VECTOR + np.float32(1)
    assert own(values={"v": near[::-1]}).has_another(value, lambda: bound, "float32")
    assert not own(values={"v": far}).has_another(value, lambda: bound, "float32")
    inside = OwnNumbers({}, lambda _: None, inside=[near])
    assert inside.has_another(value, lambda: bound, "float32")


def test_a_copy_counts_unless_it_is_taken_for_the_same():
    value, bound = VECTOR.astype(np.float64), (VECTOR.astype(np.float64), np.full(3, 1e-7))
    copies = {"v": VECTOR.reshape(3, 1)}
    assert own(values=copies).has_another(value, lambda: bound, "float32")
    follows = OwnNumbers({}, lambda _: None, copies, follows=True)
    assert not follows.has_another(value, lambda: bound, "float32")


def test_a_tensor_that_repeats_a_single_number_counts():
    arrays = {"many": np.full(40, 0.25, np.float32), "others": VECTOR}
    constants = {name: constant_of(name, array) for name, array in arrays.items()}
    found = repeated_numbers(constants, arrays.__getitem__, {"w": np.full((2, 2), 3.0)})
    assert found == (0.25, 3.0)
    numbers = OwnNumbers({}, lambda _: None, repeated=lambda: found)
    for number, expected in ((0.25, True), (0.26, False)):
        bound = (np.array(number), np.array(0.0))
        assert numbers.has_another(np.array(number), lambda b=bound: b, "float32") == expected

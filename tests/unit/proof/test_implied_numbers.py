"""Which stated numbers an operator's implied number is taken as."""

import math

import numpy as np
import pytest

from isomorph.proof.implied_numbers import ImpliedNumbers
from isomorph.proof.terms import Terms

UNIT = 2.0**-24
NUMBER = 1.0 / math.sqrt(48.0)


def stated(number: float, other: float, own: float | None = None) -> bool:
    """Whether ``number`` is taken as the other side states it."""
    numbers = ImpliedNumbers(own=() if own is None else (own,), other=(other,))
    numbers.term(Terms(), number, "float32")
    return bool(numbers.assumed)


@pytest.mark.parametrize(("form", "off"), [(lambda c: c, 4), (math.sqrt, 4), (lambda c: 1 / c, 4)])
def test_a_number_may_be_off_by_the_roundings_of_its_steps_in_every_form(form, off):
    assert stated(NUMBER, form(NUMBER) * (1 + 0.99 * off * UNIT))
    assert not stated(NUMBER, form(NUMBER) * (1 + 1.01 * off * UNIT))


def test_what_float32_computes_step_by_step_is_within_it():
    for size in range(2, 400):
        number = 1.0 / math.sqrt(size)
        single = np.float32(1.0) / np.sqrt(np.float32(size))
        assert stated(number, float(single))
        assert stated(number, float(np.sqrt(single)))


def test_a_number_that_the_own_side_states_is_not_replaced():
    assert not stated(NUMBER, float(np.float32(NUMBER)), own=float(np.float32(NUMBER)))


def test_a_number_that_a_tensor_of_the_own_side_repeats_is_not_replaced():
    number = float(np.float32(NUMBER))
    for repeated, taken in (((), True), ((number,), False)):
        numbers = ImpliedNumbers(other=(number,), repeated=lambda found=repeated: found)
        numbers.term(Terms(), NUMBER, "float32")
        assert bool(numbers.assumed) is taken


def test_two_numbers_of_one_side_are_not_taken_as_one():
    other = float(np.float32(NUMBER))
    numbers = ImpliedNumbers(other=(other,))
    terms = Terms()
    first, second = NUMBER, NUMBER * (1 + 2 * UNIT)
    assert numbers.term(terms, first, "float32") is terms.number(other, "float32")
    numbers.term(terms, second, "float32")
    assert list(numbers.assumed) == [first]

"""Errors over many samples: the worst are kept, quantiles occurred, axes keep their order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.inputs.feeds import Sample
from isomorph.measure.output_layout import Arrangeable
from isomorph.measure.sample_stats import PROBABILITIES, Record, relative_error


def sample(name):
    return Sample(origin=name, feeds={})


def filled(*errors):
    """A record of samples whose expected output is one; each is off by its error."""
    record = Record()
    for place, error in enumerate(errors):
        record.add(sample(str(place)), np.array([1.0]), np.array([1.0 + error]))
    return record


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40))
def test_quantiles_are_errors_that_occurred_and_rise_from_the_least_to_the_largest(errors):
    record = filled(*errors)
    found = record.quantiles()
    assert list(found) == [f"{each:g}" for each in PROBABILITIES]
    assert set(found.values()) <= set(record.relative)
    assert list(found.values()) == sorted(found.values())
    assert found["0"] == min(record.relative)
    assert found["1"] == max(record.relative)
    below = sum(each <= found["0.75"] for each in record.relative)
    assert below >= 0.75 * len(errors)


def test_the_worst_sample_is_kept_by_the_relative_and_by_the_absolute_error():
    record = Record()
    record.add(sample("small"), np.array([1e-3]), np.array([2e-3]))
    record.add(sample("large"), np.array([100.0]), np.array([101.0]))
    record.add(sample("right"), np.array([5.0]), np.array([5.0]))
    assert record.worst["relative"].sample.origin == "small"
    assert record.worst["absolute"].sample.origin == "large"
    assert record.worst["absolute"].relative == pytest.approx(0.01)


def test_the_first_of_equally_wrong_samples_is_kept():
    assert filled(0.5, 0.5).worst["relative"].sample.origin == "0"


def test_a_missing_output_and_another_shape_are_infinitely_wrong():
    record = Record()
    record.lacking(sample("none"))
    record.add(sample("short"), np.zeros(3), np.zeros(2))
    assert (record.misshapen, record.relative) == (2, [math.inf, math.inf])


def test_a_number_on_one_side_only_is_infinitely_wrong_and_the_first_such_sample_is_named():
    record = filled(0.0)
    record.add(sample("both"), np.array([np.nan]), np.array([np.nan]))
    record.add(sample("one"), np.array([1.0]), np.array([np.inf]))
    assert record.relative[1:] == [0.0, math.inf]
    assert (record.not_finite, record.mismatched, record.first_not_finite) == (2, 1, "both")


def test_labels_agree_by_rows_of_all_samples():
    record = Record()
    record.add(sample("a"), np.eye(2), np.eye(2))
    record.add(sample("b"), np.array([[1.0, 0.0]] * 2), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert record.label_agreement == 0.75
    assert Record().label_agreement is None


def test_exact_values_are_wrong_by_the_share_that_differs():
    assert relative_error(np.array([1, 2, 3, 9]), np.array([1, 2, 3, 4])) == 0.25


def test_a_float_against_integers_is_measured_and_neither_labels_nor_axes_are_counted():
    record = Record()
    record.add(sample("a"), np.array([[1, 2]]), np.array([[1.0, 2.5]]))
    assert record.relative[0] == pytest.approx(0.5 / 5**0.5)
    assert record.label_agreement is None


def test_something_where_nothing_is_expected_is_infinitely_wrong():
    assert relative_error(np.array([1.0]), np.array([0.0])) == math.inf
    assert relative_error(np.array([0.0]), np.array([0.0])) == 0.0


def test_the_order_of_axes_is_chosen_by_value_on_the_first_sample_and_then_kept():
    record = Record("y", lambda: Arrangeable(anything=True))
    first = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(record.add(sample("a"), first, first.transpose(2, 0, 1)), first)
    second = np.arange(12.0).reshape(2, 2, 3)
    # In the order of another sample these values would be right.
    assert np.array_equal(record.add(sample("b"), second, second.transpose(2, 0, 1)), second)
    record.add(sample("c"), second, second.transpose(2, 1, 0))
    assert record.relative[:2] == [0, 0]
    assert 0 < record.relative[2] < math.inf

"""How many runs of an oracle are computed side by side."""

import numpy as np

from isomorph.core.limits import DRAWS_AT_ONCE_BYTES
from isomorph.oracle.peak_bytes import PeakBytes, run_key


def test_as_many_as_fit_and_one_where_nothing_is_known():
    peaks = PeakBytes()
    assert peaks.runs_at_once("a") == 1
    peaks.note("a", DRAWS_AT_ONCE_BYTES // 3)
    peaks.note("b", 2 * DRAWS_AT_ONCE_BYTES)
    assert peaks.runs_at_once("a") == 3
    assert peaks.runs_at_once("b") == 1
    assert peaks.runs_at_once("unknown") == 1, "as the largest that is known"


def test_a_run_of_other_sizes_is_another_one():
    small, large = ({"x": np.zeros(size)} for size in (2, 3))
    assert run_key(small, ["y"]) == run_key({"x": np.ones(2)}, ["y"])
    assert run_key(small, ["y"]) != run_key(large, ["y"])
    assert run_key(small, ["y"]) != run_key(small, ["z"])

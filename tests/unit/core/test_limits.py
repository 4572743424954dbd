"""A limit that is hit is noted for the watcher, and every limit is in use."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import isomorph
from isomorph.core import diagnosis_limits, limits, repair_limits
from isomorph.core.limits import Limit, noted_limits
from isomorph.measure.parallel import run_parallel

FEW = Limit(most=3, of="items are looked at", left_out="further items")


@given(st.integers(0, 8))
def test_only_what_is_beyond_the_limit_is_left_out_and_noted(count):
    with noted_limits() as hit:
        assert list(FEW.first(range(count))) == list(range(min(count, 3)))
    assert list(hit) == ([FEW] if count > 3 else [])


def test_items_that_are_not_requested_do_not_hit_the_limit():
    with noted_limits() as hit:
        assert next(FEW.first(range(9))) == 0
    assert not hit


def test_a_watcher_inside_another_decides_what_is_passed_on():
    with noted_limits() as outer:
        with noted_limits() as inner:
            FEW.reached()
            FEW.reached()
        assert list(inner) == [FEW]
        assert not outer
    FEW.reached()  # without a watcher
    assert not outer


def test_a_limit_that_a_thread_hits_is_noted_for_the_check_that_started_it():
    with noted_limits() as hit:
        run_parallel(FEW.reached, lambda: None, apart=True)
    assert list(hit) == [FEW]


def test_the_words_name_the_number():
    assert FEW.why == "at most 3 items are looked at"


def test_every_limit_is_used():
    folder = Path(isomorph.__file__).parent
    text = "".join(path.read_text() for path in folder.rglob("*.py") if path.name != "limits.py")
    every = {**vars(limits), **vars(diagnosis_limits), **vars(repair_limits)}
    names = [name for name, each in every.items() if isinstance(each, Limit)]
    assert names
    assert [
        name for name in names if not re.search(rf"\b{name}\.(most|first|reached)\b", text)
    ] == []

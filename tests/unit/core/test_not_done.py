"""Entries of ``skipped`` get their texts from the catalog, from an error or from a limit."""

import pytest

from isomorph.core.limits import Limit
from isomorph.core.not_done import beyond, not_done
from isomorph.core.report import Skipped


def test_the_catalog_has_both_texts():
    assert not_done("rows", count=2, name="a.npz") == Skipped(
        what="the last 2 rows of a.npz", why="they do not fill a batch"
    )


def test_the_sentence_of_an_error_is_the_reason_where_there_is_one():
    assert not_done("proof", "it took too long") == Skipped(
        what="the proof", why="it took too long"
    )


def test_a_reason_that_nobody_states_is_an_error():
    with pytest.raises(KeyError):
        not_done("proof")


def test_a_limit_brings_its_own_words():
    limit = Limit(most=1200, of="pairs are tried", left_out="further pairs")
    assert beyond(limit) == Skipped(what="further pairs", why="at most 1,200 pairs are tried")

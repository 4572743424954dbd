"""Releases are sorted as versions, and chosen by a range or one by one."""

import pytest

from isomorph.bisecting.releases import chosen, order
from isomorph.core.errors import UsageError

KNOWN = ["1.31.1", "1.31.0", "1.9.0", "1.20.1", "1.20.0", "1.17.3", "1.17.0", "1.32.0rc1"]


def test_an_end_covers_all_releases_that_begin_with_it():
    assert chosen(KNOWN, "1.17..1.31") == (
        "1.17.0",
        "1.17.3",
        "1.20.0",
        "1.20.1",
        "1.31.0",
        "1.31.1",
    )


def test_an_end_may_be_left_out():
    assert chosen(KNOWN, "..1.17") == ("1.9.0", "1.17.0", "1.17.3")
    assert chosen(KNOWN, "1.31.0..") == ("1.31.0", "1.31.1")
    assert len(chosen(KNOWN, "..")) == 7


def test_an_exact_end_ends_there():
    assert chosen(KNOWN, "1.17.3..1.20.0") == ("1.17.3", "1.20.0")


def test_single_releases_need_not_be_known():
    assert chosen([], "2.0,1.10, 1.9") == ("1.9", "1.10", "2.0")


def test_versions_are_no_text():
    assert order("1.10") > order("1.9")
    assert order("2.0") == order("2.0.0")
    assert order("2.15.0.post1") > order("2.15.0")
    assert order("2.13.0+cpu") == order("2.13.0")
    assert order("1.32.0rc1") is None


@pytest.mark.parametrize("words", ["1.17", "a..b", "1.17...", "1.17,later", "1.0rc1..2"])
def test_what_is_no_range_is_refused(words):
    with pytest.raises(UsageError) as caught:
        chosen(KNOWN, words)
    assert caught.value.code == "BAD_OPTION"


def test_a_range_with_one_release_is_refused_with_what_there_is():
    with pytest.raises(UsageError, match="fewer than two") as caught:
        chosen(KNOWN, "1.9..1.10")
    assert caught.value.code == "TOO_FEW_RELEASES"
    assert "1.31.1" in (caught.value.why or "")

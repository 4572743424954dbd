"""Operator sets are a range, up or down, or single ones."""

import pytest

from isomorph.bisecting.opsets import chosen_opsets
from isomorph.core.errors import UsageError


def test_a_range_goes_up_or_down():
    assert chosen_opsets("9..12") == ("9", "10", "11", "12")
    assert chosen_opsets("12..10") == ("12", "11", "10")


def test_single_ones_keep_their_order():
    assert chosen_opsets("18, 9,18") == ("18", "9")


@pytest.mark.parametrize("words", ["..", "9..", "9", "9..9", "0..3", "1..100000", "1.2..3", "a..b"])
def test_what_names_fewer_than_two_is_refused(words):
    with pytest.raises(UsageError, match="operator sets"):
        chosen_opsets(words)

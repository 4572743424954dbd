import math

import pytest

from isomorph.core.messages.phrases import differing_weight, percentage


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1.283, "128%"), (0.0992, "9.9%"), (0.00068, "0.068%"), (3.85e-5, "0.0039%"), (0.0, "0%"),
        (4e-9, "4e-09 of its size"), (320.0, "320 times its size"),
        (math.inf, "an infinite amount"),
    ],
)  # fmt: skip
def test_shares_are_percentages_as_long_as_these_can_be_read(share, text):
    assert percentage(share) == text


def test_a_weight_has_one_name_where_both_sides_call_it_the_same():
    assert differing_weight("w", "w", "it is all zeros").count("'w'") == 1
    assert "'v'" in differing_weight("w", "v", "it is all zeros")

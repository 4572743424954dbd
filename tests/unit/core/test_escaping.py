"""Text out of a model neither moves the cursor nor hides anything."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.escaping import counted, printable

HARMFUL = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text(st.characters(), max_size=60))
def test_no_character_of_the_result_is_invisible(text):
    shown = printable(text)
    assert not {unicodedata.category(character) for character in shown} & HARMFUL
    if not {unicodedata.category(character) for character in text} & HARMFUL:
        assert shown == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", r"a\x1b[31mb"), ("a\nb", r"a\nb"), ("\u202eabc", r"\u202eabc"),
        ("\ud800", r"\ud800"), ("é ü 漢", "é ü 漢"),
    ],
)  # fmt: skip
def test_what_is_escaped_can_be_read(text, shown):
    assert printable(text) == shown


def test_what_is_long_is_cut_and_its_length_stated():
    assert printable("a" * 10, limit=10) == "a" * 10
    assert printable("a" * 11, limit=10) == "a" * 10 + "… (11 characters)"
    assert len(printable("\n" * 1000, limit=10).partition("…")[0]) == 10


def test_a_number_has_its_noun():
    assert [counted(each, "node") for each in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]

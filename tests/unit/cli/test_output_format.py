"""The ending of a file chooses the format where none is stated."""

from pathlib import Path

import pytest

from isomorph.cli.output_format import format_of


@pytest.mark.parametrize(
    ("stated", "output", "known", "expected"),
    [
        (None, None, None, "terminal"),
        (None, "page.HTML", None, "html"),
        (None, "r.xml", None, "junit"),
        (None, "notes.txt", None, "terminal"),
        ("sarif", "r.json", None, "sarif"),
        (None, "r.sarif", ("terminal", "json"), "terminal"),
        (None, "r.json", ("terminal", "json"), "json"),
        (None, "rows.csv", ("csv",), "csv"),
    ],
)
def test_a_stated_format_comes_first(stated, output, known, expected):
    assert format_of(stated, None if output is None else Path(output), known) == expected

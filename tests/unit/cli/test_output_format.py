"""The ending of a file chooses the format where none is stated."""

from pathlib import Path

import pytest

from isomorph import registry
from isomorph.cli.output_format import format_of, refuse_file_name
from isomorph.core.errors import UsageError

REPORTS = registry.names("reporters")


@pytest.mark.parametrize(
    ("stated", "output", "known", "expected"),
    [
        (None, None, REPORTS, "terminal"),
        (None, "page.HTML", REPORTS, "html"),
        (None, "r.xml", REPORTS, "junit"),
        (None, "notes.txt", REPORTS, "terminal"),
        (None, "notes", ("terminal", "json"), "terminal"),
        ("sarif", "r.json", REPORTS, "sarif"),
        (None, "r.json", ("terminal", "json"), "json"),
        (None, "rows.csv", ("csv",), "csv"),
        (None, "tmp.x7Qk2", REPORTS, "terminal"),
        (None, "check.log", REPORTS, "terminal"),
    ],
)
def test_a_stated_format_comes_first(stated, output, known, expected):
    assert format_of(stated, None if output is None else Path(output), known) == expected


@pytest.mark.parametrize(
    ("stated", "output", "fix"),
    [
        ("jsn", None, "did you mean 'json'?"),
        (None, "page.html", "--format terminal, or another suffix"),
        (None, "rows.csv", "--format terminal, or another suffix"),
        (None, "page.pdf", "--format terminal, or another suffix"),
        (None, "page.htlm", "did you mean '.htm'? --format terminal writes text"),
    ],
)
def test_a_format_of_other_commands_is_refused(stated, output, fix):
    with pytest.raises(UsageError) as caught:
        format_of(stated, None if output is None else Path(output), ("terminal", "json"))
    assert caught.value.code == "UNKNOWN_FORMAT"
    assert (caught.value.why, caught.value.fix) == ("it writes: terminal, json", fix)


@pytest.mark.parametrize("name", ["all.html", "trace.npz", "part.JSON"])
def test_a_folder_is_not_named_like_a_file(name, tmp_path):
    with pytest.raises(UsageError, match="looks like a file, and this command writes a folder"):
        refuse_file_name(tmp_path / name)
    (tmp_path / name).mkdir()
    refuse_file_name(tmp_path / name)


@pytest.mark.parametrize("name", ["trace", "trace.old", "ort1.19"])
def test_other_names_of_folders_are_taken(name, tmp_path):
    refuse_file_name(tmp_path / name)

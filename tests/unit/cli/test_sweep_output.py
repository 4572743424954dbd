"""What a sweep writes, by format: the page has the pages of its reports beside it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from isomorph.cli.sweep_output import (
    check_export,
    check_page,
    write_changes,
    write_export,
    write_sweep,
)
from isomorph.core.errors import UsageError
from isomorph.core.sweep_changes import CellChange, ChangeKind, SweepChanges
from isomorph.reporters.json import as_json
from sweep_results import FOUND


def test_the_page_links_to_the_pages_of_reports_that_can_be_read(tmp_path, report, capsys):
    reports = tmp_path / "store" / "reports"
    reports.mkdir(parents=True)
    (reports / "1.json").write_text(as_json(report), encoding="utf-8")
    (reports / "2.json").write_text("{}", encoding="utf-8")
    write_sweep(replace(FOUND, store=str(tmp_path / "store")), "html", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert 'href="all_reports/1.html"' in page
    assert "all_reports/2.html" not in page
    assert [each.name for each in (tmp_path / "all_reports").iterdir()] == ["1.html"]
    shown = capsys.readouterr().out
    assert shown.startswith("4 cells: 1 equivalent, 1 divergent, 1 error, 1 left\nwritten to ")


@pytest.mark.parametrize(
    ("name", "begin"),
    [("json", "{"), ("csv", "name,"), ("markdown", "**4 cells"), ("junit", "<?xml"),
     ("sarif", "{"), ("terminal", "4 cells")],
)  # fmt: skip
def test_every_other_format_is_text(capsys, name, begin):
    write_sweep(FOUND, name, None)
    assert capsys.readouterr().out.startswith(begin)


@pytest.mark.parametrize(
    ("name", "begin"),
    [("json", "{"), ("markdown", "**1 worse**"), ("html", "<!doctype"), ("terminal", "1 worse")],
)
def test_changes_have_formats_too(capsys, name, begin):
    change = CellChange(
        name="net", kind=ChangeKind.WORSE, before=FOUND.cells[0], after=FOUND.cells[1]
    )
    write_changes(SweepChanges(before="a", after="b", changes=(change,)), name, None)
    assert capsys.readouterr().out.startswith(begin)


def test_rows_are_written_beside_what_is_shown(tmp_path):
    write_export(FOUND, tmp_path / "all.json")
    assert len(json.loads((tmp_path / "all.json").read_text("utf-8"))["cells"]) == 4


def test_mistakes_are_found_before_any_cell_runs():
    with pytest.raises(UsageError, match="an ending that is not known") as raised:
        check_export(Path("all.xlsx"))
    assert ".parquet" in raised.value.fix
    with pytest.raises(UsageError, match="no file is named"):
        check_page("html", None)

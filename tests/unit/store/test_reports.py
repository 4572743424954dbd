"""A report read back is the report that was written."""

import json
from dataclasses import replace

import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.core.report import REVISION, Finding, Report, Skipped
from isomorph.reporters.json import JsonReporter
from isomorph.store.reports import read_report

REPORT = Report(
    verdict=Verdict.DIVERGENT,
    reason="wrong",
    command="check",
    seed=1,
    draws=2,
    false_alarm=1e-6,
    findings=(
        Finding(rank=1, code="X", cause=None, status="confirmed", effect="none", summary="s",
                local_error=float("nan"), share=float("inf"), evidence={"shape": [1, 2]}),
    ),
    skipped=(Skipped(what="a", why="b"),),
    elapsed={"total": float("-inf")},
)  # fmt: skip


def _written(path, change=None):
    document = json.loads(JsonReporter().render(REPORT))
    if change is not None:
        change(document)
    path.write_text(json.dumps(document))
    return path


def test_writing_and_reading_is_the_identity(tmp_path):
    path = _written(tmp_path / "r.json")
    again = read_report(path)
    assert JsonReporter().render(again) == JsonReporter().render(REPORT)
    assert again.verdict is Verdict.DIVERGENT
    assert replace(again, findings=()) == replace(REPORT, findings=())


def test_an_older_report_lacks_fields_and_a_newer_one_has_more(tmp_path):
    def older(document):
        del document["profile"], document["quantization"]

    def newer(document):
        document["oracle_of_the_future"] = {"x": 1}

    assert read_report(_written(tmp_path / "old.json", older)).profile is None
    assert read_report(_written(tmp_path / "new.json", newer)).seed == 1


@pytest.mark.parametrize("revision", [REVISION + 1, 0, -1, "2", True, None, 2.0])
def test_a_revision_that_is_not_known_is_refused_with_what_is_read(tmp_path, revision):
    path = _written(tmp_path / "r.json", lambda document: document.update(revision=revision))
    with pytest.raises(UsageError) as caught:
        read_report(path)
    assert caught.value.code == "REPORT_UNREADABLE"
    assert f"{revision!r}" in caught.value.why
    assert f"revisions 1 to {REVISION}" in caught.value.why


def test_a_report_without_a_revision_is_of_the_first(tmp_path):
    status = {"output": "y", "state": "unchanged", "told": "as accepted"}

    def first(document):
        del document["revision"]
        document["baseline"] = {"file": "b.toml", "standings": [status]}

    report = read_report(_written(tmp_path / "first.json", first))
    assert report.revision == REVISION
    assert [each.message for each in report.baseline.statuses] == ["as accepted"]


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(schema="isomorph.report/9"),
        lambda document: document.pop("verdict"),
        lambda document: document.update(verdict="fine"),
        lambda document: document.update(findings="none"),
        lambda document: document.update(seed="1"),
        lambda document: document["findings"][0].update(share="a lot"),
        lambda document: document["findings"].append(7),
    ],
)
def test_what_is_no_report_is_refused_with_the_reason(tmp_path, change):
    with pytest.raises(UsageError, match="report") as caught:
        read_report(_written(tmp_path / "r.json", change))
    assert caught.value.code == "REPORT_UNREADABLE"


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "\x00"])
def test_what_is_no_json_is_refused(tmp_path, text):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(UsageError):
        read_report(path)


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(UsageError) as caught:
        read_report(tmp_path / "none.json")
    assert caught.value.code == "FILE_NOT_FOUND"


@pytest.mark.parametrize("name", ["models", "findings", "reason", "seed"])
def test_null_is_no_value_of_a_field_that_must_have_one(tmp_path, name):
    path = _written(tmp_path / "r.json", lambda data: data.update({name: None}))
    with pytest.raises(UsageError, match="not a report that can be read"):
        read_report(path)


def test_a_number_that_no_float_holds_is_refused(tmp_path):
    path = _written(tmp_path / "r.json", lambda data: data.update(false_alarm=10**400))
    with pytest.raises(UsageError, match="not a report that can be read"):
        read_report(path)

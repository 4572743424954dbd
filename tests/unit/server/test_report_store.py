"""What the list of reports states of each: causes, and the largest error by its budget."""

from dataclasses import replace

import pytest

from isomorph.core.report import Report
from isomorph.reporters.json import JsonReporter
from isomorph.server.report_store import ReportStore


@pytest.fixture
def listed(tmp_path):
    """Lists one report of a folder."""

    def summary(report: Report):
        (tmp_path / "one.json").write_text(JsonReporter().render(report))
        (only,) = ReportStore(tmp_path).listed()
        return only

    return summary


def test_every_cause_is_stated_once(listed, report):
    (finding,) = report.findings
    more = (finding, replace(finding, cause=None), replace(finding, cause="layout"), finding)
    assert listed(replace(report, findings=more))["causes"] == ["attribute", "layout"]


@pytest.mark.parametrize(
    ("intended", "rounding", "candidate", "worst"),
    [
        (None, 12.0, 0.5, 12.0),
        (0.25, 12.0, 0.5, 0.5),
        (None, 0.25, 3.0, 3.0),
        (None, float("inf"), 3.0, "inf"),
        (None, None, float("nan"), None),
    ],
)
def test_the_ratio_is_the_largest_that_judges_the_candidate(
    listed, report, divergence, part, intended, rounding, candidate, worst
):
    output = replace(
        divergence,
        intended_loss=None if intended is None else part(1.0, intended),
        rounding=part(1.0, rounding),
        execution_candidate=part(1.0, candidate),
        execution_reference=part(1.0, 1000.0),
    )
    assert listed(replace(report, outputs=(output,)))["ratio"] == worst


def test_without_outputs_there_is_no_ratio(listed, report):
    assert listed(replace(report, outputs=()))["ratio"] is None

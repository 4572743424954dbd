"""What changed between two reports."""

from dataclasses import replace

import pytest

from isomorph.core.cost import Cost, PhaseCost
from isomorph.core.divergence import Verdict
from isomorph.core.report import FindingStatus
from isomorph.core.report_diff import Presence
from isomorph.core.trace import Environment
from isomorph.diffing.report_diff import diff_reports
from report_fixtures import divergence, over_samples, part, profile, quantized, report  # noqa: F401


def test_one_report_twice(report):  # noqa: F811
    found = diff_reports(report, replace(report, cost=Cost(wall=9.0, cpu=1.0)))
    assert found.same
    assert found.exit_code == 0
    assert {each.presence for each in (*found.findings, *found.outputs)} == {Presence.SAME}
    assert [(each.phase, each.after) for each in found.cost if each.phase == "total"] == [
        ("total", 9.0)
    ]


def test_findings_are_new_gone_and_changed(report):  # noqa: F811
    first = report.findings[0]
    other = replace(first, code="LATENT_FAULT", node="elsewhere")
    stated = replace(first, status=FindingStatus.REFUTED)
    found = diff_reports(
        replace(report, findings=(first, first)), replace(report, findings=(stated, other))
    )
    assert not found.same
    changes_by_code = {(each.presence, each.code) for each in found.findings}
    assert changes_by_code == {
        (Presence.CHANGED, first.code), (Presence.NEW, "LATENT_FAULT"), (Presence.GONE, first.code),
    }  # fmt: skip
    (changed,) = [each for each in found.findings if each.presence is Presence.CHANGED]
    assert (changed.status_before, changed.status_after) == (first.status, FindingStatus.REFUTED)


def test_the_error_and_the_budget_of_an_output(report):  # noqa: F811
    (one, *rest) = report.outputs
    term = one.translation
    worse = replace(term, budget=replace(term.budget, ratio=42.0))
    after = replace(report, outputs=(replace(one, translation=worse), *rest))
    found = diff_reports(report, after)
    output = found.outputs[0]
    assert output.presence is Presence.CHANGED
    (error,) = [each for each in output.errors if not each.same]
    assert (error.term, error.ratio_before, error.ratio_after) == (
        "translation",
        term.budget.ratio,
        42.0,
    )
    assert error.error_before == error.error_after == term.distance.max_abs


def test_an_output_that_only_one_report_has(report):  # noqa: F811
    found = diff_reports(report, replace(report, outputs=()))
    assert {each.presence for each in found.outputs} == {Presence.GONE}
    assert {each.verdict_after for each in found.outputs} == {None}


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"version": "9.9"}, ("version", "1.0", "9.9")),
        ({"settings": {"optimization": "none"}}, ("setting optimization", "all", "none")),
        ({"facts": {"simd": "avx2"}}, ("simd", None, "avx2")),
    ],
)
def test_versions_settings_and_facts_of_environments(report, changes, fact):  # noqa: F811
    before = Environment(runtime="onnxruntime", version="1.0", settings={"optimization": "all"})
    sides = [replace(report, environments={"candidate run": each})
             for each in (before, replace(before, **changes))]  # fmt: skip
    found = diff_reports(*sides)
    assert [(each.name, each.before, each.after) for each in found.environments] == [fact]
    assert not found.same


def test_another_verdict_and_another_file(report):  # noqa: F811
    other = replace(report.models[0], digest="f" * 64)
    after = replace(report, verdict=Verdict.UNKNOWN, models=(other, *report.models[1:]), seed=8)
    found = diff_reports(report, after, locations=("a.json", "b.json"))
    assert (found.before.verdict, found.after.verdict) == (report.verdict, Verdict.UNKNOWN)
    assert [each.name for each in found.models] == ["digest"]
    assert [(each.name, each.after) for each in found.questions] == [("seed", "8")]
    assert found.after.location == "b.json"


def test_phases_of_both_reports(report):  # noqa: F811
    costs = [Cost(wall=2.0, cpu=2.0, phases=(PhaseCost(name=name, wall=1.5, cpu=1.0),))
             for name in ("oracle", "load")]  # fmt: skip
    found = diff_reports(*(replace(report, cost=each) for each in costs))
    assert [(each.phase, each.before, each.after) for each in found.cost] == [
        ("total", 2.0, 2.0), ("oracle", 1.5, None), ("load", None, 1.5),
    ]  # fmt: skip

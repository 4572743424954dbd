"""A constant that differs by itself can be accepted: just that one, with just these numbers."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import isomorph
from accepted_reports import accepted
from isomorph import registry
from isomorph.checking.baseline import accepted_entries, compare_with_baseline
from isomorph.core.report import Finding
from isomorph.store.reports import read_report
from weight_pairs import F32, floats, model, node, normal, spoiled

DEAD = {"x": -np.ones((4, 8), F32)}
"""With positive weights, an input that leaves every ReLU shut."""
FIRST, SECOND = (np.abs(normal(8, 6, seed=seed)) + F32(0.1) for seed in (1, 2))


def two(first, second):
    """Two products of the input, each behind a ReLU."""
    nodes = [node("MatMul", "x v", "a"), node("Relu", "a", "y"), node("MatMul", "x w", "b"),
             node("Relu", "b", "z")]  # fmt: skip
    outputs = {"y": floats(4, 6), "z": floats(4, 6)}
    return model(nodes, {"x": floats(4, 8)}, outputs, {"v": first, "w": second})


RIGHT = two(FIRST, SECOND)
KNOWN = two(spoiled(FIRST, (2, 3), 1.05), SECOND)


def checked(candidate, baseline=None, inputs=DEAD):
    options = isomorph.CheckOptions(pair="p", baseline=baseline)
    return isomorph.check(RIGHT, candidate, inputs=inputs, in_process=True, options=options)


@pytest.fixture
def known(tmp_path):
    file, entry = accepted(checked(KNOWN), tmp_path)
    assert (entry.output, entry.constant, entry.causes) == ("", "v", ("weight",))
    return file


def statuses(report):
    return [(each.constant or each.output, each.state) for each in report.baseline.statuses]


def test_the_constant_that_was_accepted_passes(known, tmp_path):
    report = checked(KNOWN, baseline=known)
    assert statuses(report) == [("v", "unchanged")]
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert report.exit_code == 0
    text = registry.reporter("terminal").render(report)
    assert "constant 'v' is unchanged" in text
    path = tmp_path / "again.json"
    path.write_text(registry.reporter("json").render(report))
    assert read_report(path).baseline == report.baseline


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (two(spoiled(FIRST, (2, 3), 1.06), SECOND), [("v", "worse")]),
        (two(spoiled(FIRST, (2, 4), 1.05), SECOND), [("v", "worse")]),
        (two(FIRST, spoiled(SECOND, (2, 3), 1.05)), [("w", "new")]),
        (
            two(spoiled(FIRST, (2, 3), 1.05), spoiled(SECOND, (2, 3), 1.05)),
            [("v", "new"), ("w", "new")],
        ),
    ],
    ids=["other numbers", "another element", "another constant", "one more"],
)
def test_nothing_else_passes(known, candidate, expected):
    report = checked(candidate, baseline=known)
    assert statuses(report) == expected
    assert report.exit_code == 1


def test_on_an_input_that_shows_it_the_output_is_new(known):
    report = checked(KNOWN, baseline=known, inputs={"x": np.ones((4, 8), F32)})
    assert ("y", "new") in statuses(report)
    assert report.exit_code == 1


def test_a_constant_that_differs_no_more_is_fixed(known):
    report = checked(RIGHT, baseline=known)
    assert statuses(report) == [("v", "fixed")]
    assert report.exit_code == 0


@pytest.mark.parametrize(
    "other",
    [
        Finding(rank=1, code="OUTPUT_ORDER", cause="interface", status="confirmed",
                effect="reaches_output", summary="in another order"),
        Finding(rank=1, code="LATENT", cause="attribute", status="confirmed", effect="latent",
                summary="differs elsewhere", node="relu", evidence={"reached_by": "times 4"}),
    ],
    ids=["order", "shown by another input"],
)  # fmt: skip
def test_another_reason_to_be_divergent_is_new(other):
    today = date(2026, 11, 16)
    report = checked(KNOWN)
    entries = accepted_entries(report, why="w", who="Ada", when=today, until=None, pair="p")
    more = replace(report, findings=(*report.findings, other))
    assert compare_with_baseline(report, "b", entries, today=today, pair="p").exit_code == 0
    assert compare_with_baseline(more, "b", entries, today=today, pair="p").exit_code == 1

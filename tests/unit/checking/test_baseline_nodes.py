"""A node that only other inputs show can be accepted: just that one, with just these values."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import isomorph
from accepted_reports import accepted
from isomorph import registry
from isomorph.checking.baseline import compare_with_baseline
from isomorph.store.baselines import read_baseline
from isomorph.store.reports import read_report
from weight_pairs import F32, floats, model, node

POSITIVE = {"x": np.ones((2, 3), F32)}
"""An input that leaves the slopes unused."""


def two(first, second):
    """Two activations, of the input and of twice the input."""
    nodes = [node("LeakyRelu", "x", "y", alpha=first), node("Add", "x x", "a"),
             node("LeakyRelu", "a", "z", alpha=second)]  # fmt: skip
    return model(nodes, {"x": floats(2, 3)}, {"y": floats(2, 3), "z": floats(2, 3)}, {})


RIGHT, KNOWN = two(0.1, 0.2), two(0.3, 0.2)
NAME = KNOWN.graph.node[0].name
OTHER = KNOWN.graph.node[2].name


def checked(candidate, baseline=None, inputs=POSITIVE):
    options = isomorph.CheckOptions(pair="p", baseline=baseline)
    return isomorph.check(RIGHT, candidate, inputs=inputs, in_process=True, options=options)


@pytest.fixture
def known(tmp_path):
    file, entry = accepted(checked(KNOWN), tmp_path)
    assert (entry.node, entry.output, entry.causes) == (NAME, "y", ("attribute",))
    assert read_baseline(file) == (entry,)
    return file


def statuses(report):
    return [(each.node or each.output, each.state) for each in report.baseline.statuses]


def test_the_node_that_was_accepted_passes(known, tmp_path):
    report = checked(KNOWN, baseline=known)
    assert statuses(report) == [(NAME, "unchanged")]
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert report.exit_code == 0
    assert f"node '{NAME}' is unchanged" in registry.reporter("terminal").render(report)
    path = tmp_path / "again.json"
    path.write_text(registry.reporter("json").render(report))
    assert read_report(path).baseline == report.baseline


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (two(0.4, 0.2), {(NAME, "worse")}),
        (two(0.1, 0.3), {(OTHER, "new")}),
    ],
    ids=["another value", "another node"],
)
def test_nothing_else_passes(known, candidate, expected):
    report = checked(candidate, baseline=known)
    assert set(statuses(report)) == expected
    assert report.exit_code == 1


def test_a_second_node_is_new(known):
    report = checked(two(0.3, 0.4), baseline=known)
    assert (NAME, "new") in statuses(report)
    assert report.exit_code == 1


def test_another_output_is_none_that_was_accepted(known):
    report = checked(KNOWN)
    entries = [replace(each, output="z") for each in read_baseline(known)]
    compared = compare_with_baseline(report, "b", entries, today=date(2026, 11, 16), pair="p")
    assert statuses(compared) == [(NAME, "worse")]
    assert compared.exit_code == 1


def test_on_an_input_that_shows_it_the_output_is_new(known):
    report = checked(KNOWN, baseline=known, inputs={"x": -np.ones((2, 3), F32)})
    assert ("y", "new") in statuses(report)
    assert report.exit_code == 1


def test_a_node_that_differs_no_more_is_fixed(known):
    report = checked(RIGHT, baseline=known)
    assert statuses(report) == [(NAME, "fixed")]
    assert report.exit_code == 0

"""Suspect constants beyond the limit are reported, and those of few elements are examined."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.stages.weight_pairs import F32, floats, model, node, normal, spoiled

import isomorph
from isomorph.core.limits import MOST_SUSPECT_CONSTANTS


def checked(reference, candidate, **options):
    return isomorph.check(reference, candidate, in_process=True, **options)


def differing(report):
    return [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]


def skipped(report):
    return [each for each in report.skipped if each.what == "constants"]


def side_by_side(count, factor):
    """As many products behind a ReLU, each with one element multiplied."""
    nodes, held, outputs = [], {}, {}
    for place in range(count):
        kernel = np.abs(normal(8, 6, seed=place)) + F32(0.1)
        held[f"w{place}"] = spoiled(kernel, (2, 3), factor)
        nodes += [
            node("MatMul", f"x w{place}", f"h{place}"),
            node("Relu", f"h{place}", f"y{place}"),
        ]
        outputs[f"y{place}"] = floats(4, 6)
    return model(nodes, {"x": floats(4, 8)}, outputs, held)


@pytest.mark.parametrize("more", [0, 1])
def test_suspects_beyond_the_limit_are_reported(more):
    count = MOST_SUSPECT_CONSTANTS + more
    sides = side_by_side(count, 1), side_by_side(count, 1.05)
    report = checked(*sides, inputs={"x": -np.ones((4, 8), F32)})
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert len(differing(report)) == MOST_SUSPECT_CONSTANTS
    assert len(skipped(report)) == more
    assert all(str(count) in each.why for each in skipped(report))

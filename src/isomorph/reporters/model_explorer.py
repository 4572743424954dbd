"""The error of every node as an overlay for Google's Model Explorer, one file per model."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError
from isomorph.core.messages import message
from isomorph.core.report import FindingEffect

if TYPE_CHECKING:
    from isomorph.core.profile import GraphProfile
    from isomorph.core.report import Report

GRAPH = "main"
"""The id under which Model Explorer shows the only graph of a model."""
_GRADIENT = ((0.0, "#ffffff"), (0.5, "#f6c7a4"), (1.0, "#b3261e"))
_FAULTY_COLOR = "#b3261e"


class ModelExplorerReporter:
    """Node data keyed by tensor: the decimal logarithm of the relative error.

    The candidate's overlay shows the translation error where that was measured, otherwise, as
    for the reference, the error of the run. ``render`` gives the candidate's.
    """

    name = "model-explorer"
    profile = True
    follows = False

    def render(self, report: Report) -> str:
        """The candidate's overlay."""
        return list(self.render_files(report).values())[-1]

    def render_files(self, report: Report) -> dict[str, str]:
        """One overlay for each model, by its role; the candidate's last."""
        if report.profile is None or not report.profile.graphs:
            raise UsageError(
                "NO_PROFILE",
                "this report does not hold the error of every node",
                fix="make it with: isomorph check REFERENCE CANDIDATE --profile --format json",
            )
        faulty = {
            finding.node for finding in report.findings if finding.effect != FindingEffect.NONE
        }
        return {side.role: _overlay(side, faulty) for side in report.profile.graphs}


def _overlay(side: GraphProfile, faulty: set[str | None]) -> str:
    translated = any(value is not None for value in side.translation)
    values = side.translation if translated else side.execution
    what = "translation" if translated else "run"
    data = {
        "name": message("REPORT.overlay", error=what),
        "results": _results(side, values, faulty if side.role == "candidate" else set()),
        "gradient": [{"stop": stop, "bgColor": color} for stop, color in _GRADIENT],
    }
    return json.dumps({GRAPH: data}, indent=2, sort_keys=True, allow_nan=False)


def _results(
    side: GraphProfile, values: Sequence[float | None], faulty: set[str | None]
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    finite = [v for v in values if v is not None and math.isfinite(v) and v > 0]
    # Nothing lies below the smallest error that was seen, and infinity above the largest.
    least, most = min(finite, default=1e-16), max(finite, default=1.0)
    for node, tensor, value in zip(side.nodes, side.tensors, values, strict=True):
        if value is None or not tensor or math.isnan(value):
            continue
        shown = most * 10 if value == math.inf else max(value, least)
        found[tensor] = {"value": round(math.log10(shown), 4)}
        if node in faulty:
            found[tensor]["bgColor"] = _FAULTY_COLOR
    return found

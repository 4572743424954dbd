"""Whether capturing every tensor changed the result of a run.

Fetching a tensor keeps an optimizer from fusing the nodes around it. The run without capturing is
judged; where the captured run differs from it by more than rounding, a finding reports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.measure.budget_check import judge
from isomorph.measure.spread import merged

if TYPE_CHECKING:
    from isomorph.core.divergence import ErrorTerm
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.spread import Spread


def changed_by_capturing(
    evaluated: EvaluatedModel,
    captured: Mapping[str, Array],
    names: Sequence[str],
    false_alarm: float,
) -> Finding | None:
    """Report the outputs that changed by more than rounding when every tensor was fetched."""
    untouched, rounding, oracle_outputs = (
        evaluated.runtime_outputs(),
        evaluated.rounding(),
        evaluated.oracle_outputs(),
    )
    if (
        isinstance(untouched, IsomorphError)
        or isinstance(rounding, IsomorphError)
        or isinstance(oracle_outputs, IsomorphError)
    ):
        return None
    moved: dict[str, tuple[float, bool]] = {}
    for name in names:
        run, other, spread = untouched.get(name), captured.get(name), rounding.get(name)
        if run is None or other is None or spread is None or run.shape != other.shape:
            continue

        def judged(expected: Array, allowed: Spread | None, value: Array = other) -> ErrorTerm:
            return judge(
                value, expected, allowed, dtype=str(value.dtype), derivation="",
                false_alarm=false_alarm,
            )  # fmt: skip

        # Both runs round, so they may differ as much as two draws.
        part = judged(run, merged(spread, spread))
        if part.beyond:
            size = part.distance.max_abs
            right = judged(oracle_outputs[name], spread).within
            moved[name] = (float("inf") if size is None else size, right)
    return _finding(moved) if moved else None


def _finding(moved: Mapping[str, tuple[float, bool]]) -> Finding:
    names = ", ".join(repr(name) for name in moved)
    size = max(size for size, _ in moved.values())
    right = all(within for _, within in moved.values())
    key = "CAPTURE_CHANGED.right" if right else "CAPTURE_CHANGED.wrong"
    return Finding(
        code="CAPTURE_CHANGED",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.NONE,
        summary=message(key, outputs=names, size=size),
        tensors=tuple(moved),
        evidence={"outputs": {name: size for name, (size, _) in moved.items()}},
        fix=message("FIX.untouched_run"),
    )

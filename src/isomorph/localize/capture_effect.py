"""Whether looking inside changed the result: a captured run is not always the deployed one.

Taking a tensor out keeps an optimizer from joining the nodes around it. The untouched run is the
one that is judged; where the captured one differs from it by more than rounding, that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.core.divergence import Judgment
from isomorph.core.errors import IsomorphError
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.measure.budget_check import judge
from isomorph.measure.spread import merged

if TYPE_CHECKING:
    from isomorph.core.divergence import ErrorTerm
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.spread import Spread


def changed_by_capturing(
    subject: EvaluatedModel, captured: Mapping[str, Array], names: Sequence[str], false_alarm: float
) -> Finding | None:
    """The outputs that moved by more than rounding when every tensor was taken out."""
    untouched, rounding, meaning = (
        subject.runtime_outputs(),
        subject.rounding(),
        subject.oracle_outputs(),
    )
    if (
        isinstance(untouched, IsomorphError)
        or isinstance(rounding, IsomorphError)
        or isinstance(meaning, IsomorphError)
    ):
        return None
    moved: dict[str, tuple[float, bool]] = {}
    for name in names:
        run, other, spread = untouched.get(name), captured.get(name), rounding.get(name)
        if run is None or other is None or spread is None or run.shape != other.shape:
            continue

        def held(expected: Array, allowed: Spread | None, value: Array = other) -> ErrorTerm:
            return judge(
                value, expected, allowed, dtype=str(value.dtype), derivation="",
                false_alarm=false_alarm,
            )  # fmt: skip

        # Both runs rounded, so the two may be as far apart as two draws.
        part = held(run, merged(spread, spread))
        if part.budget.within is Judgment.NO:
            size = part.distance.max_abs
            right = held(meaning[name], spread).budget.within is Judgment.YES
            moved[name] = (float("inf") if size is None else size, right)
    return _finding(moved) if moved else None


def _finding(moved: Mapping[str, tuple[float, bool]]) -> Finding:
    names = ", ".join(repr(name) for name in moved)
    size = max(size for size, _ in moved.values())
    right = all(within for _, within in moved.values())
    told = "and the captured run is right" if right else "and neither run is right"
    return Finding(
        rank=0,
        code="CAPTURE_CHANGED",
        cause=None,
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.NONE,
        summary=f"capturing every tensor changed output {names} by {size:.2g}, {told}: what was "
        "looked into is not what is deployed",
        tensors=tuple(moved),
        evidence={"outputs": {name: size for name, (size, _) in moved.items()}},
        fix="trust the untouched run; fetch few tensors at a time, or switch optimizers off",
    )

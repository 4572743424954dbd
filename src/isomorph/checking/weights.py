"""Weights are held against each other whether or not an input reaches them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Verdict
from isomorph.localize.weight_findings import compared_constants

if TYPE_CHECKING:
    from isomorph.checking.state import CheckState
    from isomorph.sessions.model_handle import ModelHandle


def compare_constants(work: CheckState, reference: ModelHandle, candidate: ModelHandle) -> None:
    """Add what comparing the weights finds to what the runs showed.

    A weight that differs makes another function, though the given inputs do not show it. Where the
    question is about the given inputs alone it is told and decides nothing.
    """
    stated = bool(work.options.budgets)
    found = compared_constants(
        reference, candidate, work.experiment, work.findings, stated_budget=stated
    )
    work.findings += found.findings
    work.skipped += found.skipped
    if found.differs and not work.options.only_given:
        kinds = [sample.kind for sample in work.tried]
        work.raise_verdict(Verdict.DIVERGENT, _reason(found.differs, work.verdict, kinds))


def _reason(differs: str, verdict: Verdict, kinds: Sequence[InputKind]) -> str:
    """What the runs showed, then the weight that decides."""
    generated = all(kind is InputKind.GENERATED for kind in kinds)
    where = ("generated" if generated else "given") + (" input" if len(kinds) == 1 else " inputs")
    if verdict is Verdict.EQUIVALENT:
        return f"the same on the {where}; {differs}"
    if verdict is Verdict.DEGRADED:
        return f"within the loss of lower precision on the {where}; {differs}"
    return differs

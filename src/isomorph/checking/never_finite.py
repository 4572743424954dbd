"""An output without a finite value on any input: where its numbers end, and what to try."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Outcome
from isomorph.core.coverage import ONLY_NONFINITE
from isomorph.core.divergence import Verdict
from isomorph.core.messages import message
from isomorph.core.report import Finding, FindingEffect, FindingStatus, ModelForm
from isomorph.measure.first_bad_tensor import first_bad_tensors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isomorph.checking.log import CheckLog
    from isomorph.core.coverage import Coverage
    from isomorph.core.divergence import Divergence
    from isomorph.measure.evaluated_model import EvaluatedModel

_AS_MEANT = "NOT_FINITE_AS_MEANT"
_CODES = frozenset({_AS_MEANT, "NOT_FINITE"})


def shows_no_number(divergences: Iterable[Divergence]) -> bool:
    """Whether an output of a sample has values, and none of them is finite."""
    return any(each.elements and not each.finite for each in divergences)


def never_finite(log: CheckLog, reference: EvaluatedModel | None, false_alarm: float) -> Outcome:
    """Name the first node of the reference after which numbers are NaN or infinite.

    ``reference`` is the model on a sample of which an output shows no number. An output that shows
    one on another sample is not meant.
    """
    outputs = [each.output for each in log.ledger.coverage.outputs if each.never_finite]
    if reference is None or not outputs:
        return Outcome()
    bad = first_bad_tensors(reference, false_alarm)
    found = next((each for each in bad if each.code in _CODES), None)
    if found is None:
        found = Finding(
            code=_AS_MEANT,
            effect=FindingEffect.REACHES_OUTPUT,
            status=FindingStatus.CONFIRMED,
            summary=message("NOT_FINITE_AS_MEANT.output", output=outputs[0]),
        )
    models = [each.summary for each in log.handles]
    # A live object has no path that could be typed.
    files = all(each.form is ModelForm.FILE for each in models)
    words = " ".join(shlex.quote(each.location) if files else each.role.upper() for each in models)
    fix = message("NOT_FINITE_AS_MEANT.inputs", models=words)
    return Outcome(
        findings=(replace(found, cause=None, effect=FindingEffect.REACHES_OUTPUT, fix=fix),)
    )


def without_numbers(divergence: Divergence, coverage: Coverage) -> Divergence:
    """The divergence of an output as unknown where it shows no number on any input."""
    names = {each.output for each in coverage.outputs if each.never_finite}
    if divergence.reference_output not in names or divergence.verdict is Verdict.DIVERGENT:
        return divergence
    return replace(divergence, verdict=Verdict.UNKNOWN, reason=ONLY_NONFINITE)

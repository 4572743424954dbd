"""Judge a sample of many by the float64 values of the candidate alone.

A reference whose runtime computes the operators of its graph one by one, without an optimizer, and
whose runs were clearly within rounding of its own float64 values on earlier samples, needs no
float64 evaluation on every further one. The runs of both are compared with the candidate's float64
values by the candidate's budget of this very sample, which is narrower than that of both: where all
of them are clearly within it, both graphs compute the same there. Any doubt is left to the full
comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.divergence import Divergence, ErrorTerm, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.stated_numbers import FIRST_DRAWS, SAMPLES_BY_BOTH
from isomorph.measure.budget_check import judge
from isomorph.measure.compare import Comparison
from isomorph.measure.distance import is_inexact
from isomorph.measure.draws_needed import beyond_doubt
from isomorph.measure.precision import lower_precision, quantized
from isomorph.measure.verdict import ROUNDING, SAME

if TYPE_CHECKING:
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.measure.compare import Terms
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.evaluated_tail import EvaluatedTail
    from isomorph.measure.spread import Spread


@dataclass(slots=True)
class Trust:
    """Whether the runs of the reference may stand for its float64 values, by earlier samples."""

    false_alarm: float
    _settled: int = 0
    _doubted: bool = False

    @property
    def earned(self) -> bool:
        """Whether enough samples were judged by both, and none of them left a doubt."""
        return self._settled >= SAMPLES_BY_BOTH and not self._doubted

    def add(self, comparison: Comparison) -> None:
        """Add the full comparison of one sample."""
        self._settled += 1
        if not all(self._clear(each) for each in comparison.divergences):
            self._doubted = True

    def _clear(self, divergence: Divergence) -> bool:
        run = divergence.execution_reference
        # Without a term of its own the reference's run was equal to the candidate's, bit by bit.
        return (
            divergence.verdict is Verdict.EQUIVALENT
            and (run is None or run.within)
            and beyond_doubt(divergence, self.false_alarm, smooth=True)
        )


def eligible(reference: EvaluatedModel, candidate: EvaluatedModel) -> bool:
    """Whether this pair may be judged so at all: smooth graphs of one precision, run as written."""
    left, right = reference.model.graph, candidate.model.graph
    return (
        reference.handle is not None
        and reference.handle.runs_as_written
        and reference.has_tail()
        and candidate.has_tail()
        and not (lower_precision(left, right) or quantized(left) or quantized(right))
    )


def judged_by_candidate(
    reference: EvaluatedModel,
    candidate: EvaluatedModel,
    bindings: Sequence[Binding],
    terms: Terms,
) -> Comparison | None:
    """Return the comparison of a sample; None where this leaves any doubt."""
    tail = candidate.tail()
    if tail is None:
        return None
    found = _by_tail(reference, tail, bindings, terms)
    if found is None and tail.draw_more(FIRST_DRAWS):
        found = _by_tail(reference, tail, bindings, terms)
    return found


def _by_tail(
    reference: EvaluatedModel, tail: EvaluatedTail, bindings: Sequence[Binding], terms: Terms
) -> Comparison | None:
    """Judge a sample by the draws that its tail has; None where they leave any doubt."""
    values = (reference.runtime_outputs(), tail.runtime_outputs(), tail.oracle_outputs())
    spreads = tail.rounding()
    found = []
    for pair in bindings:
        names = pair.reference, pair.candidate, pair.candidate
        each = [_array(one, name) for one, name in zip(values, names, strict=True)]
        spread = None if isinstance(spreads, IsomorphError) else spreads.get(pair.candidate)
        stated = terms.budget(pair.reference, pair.candidate) is not None
        if stated or pair.candidate in terms.arrangeable.stated or spread is None:
            return None
        divergence = _judged(pair, each, spread, terms.false_alarm)
        if divergence is None:
            return None
        found.append(divergence)
    return Comparison(divergences=tuple(found), rearranged={}, bindings=tuple(bindings))


def _judged(
    pair: Binding, values: Sequence[Array | None], spread: Spread, false_alarm: float
) -> Divergence | None:
    """Judge one pair of outputs; None unless it is the same beyond doubt."""
    ref, cand, oracle = values
    if ref is None or cand is None or oracle is None or not (is_inexact(ref) and is_inexact(cand)):
        return None
    if ref.dtype != cand.dtype or not ref.shape == cand.shape == oracle.shape:
        return None
    dtype = str(cand.dtype)

    def term(actual: Array, expected: Array) -> ErrorTerm:
        return judge(
            actual, expected, spread, dtype=dtype, derivation=ROUNDING, false_alarm=false_alarm
        )

    divergence = Divergence(
        reference_output=pair.reference,
        candidate_output=pair.candidate,
        dtype=dtype,
        shape=tuple(cand.shape),
        verdict=Verdict.EQUIVALENT,
        reason=SAME,
        observed=term(cand, ref),
        # Against the candidate's float64 values, in the place of its own.
        execution_reference=term(ref, oracle),
        execution_candidate=term(cand, oracle),
    )
    parts = (
        divergence.observed,
        divergence.execution_reference,
        divergence.execution_candidate,
    )
    clear = all(part is not None and part.within and not part.budget.blind for part in parts)
    return divergence if clear and beyond_doubt(divergence, false_alarm, smooth=True) else None


def _array(values: Mapping[str, Array] | IsomorphError, name: str) -> Array | None:
    return None if isinstance(values, IsomorphError) else values.get(name)

"""Judge one sample of many as the full check does, with as few draws as necessary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Budget, Divergence, ErrorTerm, Verdict
from isomorph.core.errors import FATAL, IsomorphError
from isomorph.core.messages import message
from isomorph.core.stated_numbers import MANY_DRAWS
from isomorph.measure.candidate_float64 import judged_by_candidate
from isomorph.measure.compare import Comparison, Terms, compare
from isomorph.measure.distance import differs, distance
from isomorph.measure.draws_needed import doubtful
from isomorph.measure.evaluated_batch import (
    draw_tails,
    run_deployed,
    run_oracles,
    run_together,
)
from isomorph.measure.parallel import run_parallel

if TYPE_CHECKING:
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.comparand import Comparand
    from isomorph.measure.evaluated_model import EvaluatedModel

Judge = Callable[["Sample", Sequence["Binding"]], Comparison]
"""Judges one sample under these bindings."""

FINE = frozenset({Verdict.EQUIVALENT, Verdict.DEGRADED})
_SAME = message("EQUIVALENT.bits")


def screened(
    reference: Comparand, candidate: EvaluatedModel, bindings: Sequence[Binding], terms: Terms
) -> Comparison:
    """Return the comparison of the full check on this sample, at the least cost.

    Equal runs of equal oracles need no budget. Draws for re-rounded constants, and many draws, are
    made only where the verdict depends on them.
    """
    same = _identical(reference, candidate, bindings)
    if same is not None:
        return same
    _refuse_fatal(reference, candidate)
    judged = compare(reference, candidate, bindings, replace(terms, allowance=False))
    if _fine(judged):
        return judged
    judged = compare(reference, candidate, bindings, terms)
    wrong = [each for each in judged.divergences if each.verdict is Verdict.DIVERGENT]
    if wrong and all(doubtful(each, terms.false_alarm) for each in wrong):
        candidate.draw_more(MANY_DRAWS)
        judged = compare(reference, candidate, bindings, terms)
    return judged


def evaluate_pairs(
    pairs: Sequence[tuple[EvaluatedModel, EvaluatedModel]], bindings: Sequence[Binding]
) -> None:
    """Evaluate both models on many samples at once, as far as ``screened`` will ask for it."""
    apart = all(each.isolated for pair in pairs for each in pair)
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    run_parallel(*(partial(run_together, each) for each in sides), apart=apart)
    unlike = [pair for pair in pairs if _identical(*pair, bindings) is None]
    if unlike:
        sides = [[pair[side] for pair in unlike] for side in (0, 1)]
        run_parallel(*(partial(draw_tails, each) for each in sides), apart=apart)


def evaluate_by_candidate(
    pairs: Sequence[tuple[EvaluatedModel, EvaluatedModel]],
    bindings: Sequence[Binding],
    terms: Terms,
) -> list[Comparison | None]:
    """Evaluate the candidate and run the reference on many samples at once, and judge each.

    The reference is evaluated in float64 on the samples that this leaves in doubt: theirs are None.
    """
    apart = all(each.isolated for pair in pairs for each in pair)
    references, candidates = ([pair[side] for pair in pairs] for side in (0, 1))

    def candidate_side() -> None:
        run_together(candidates)
        draw_tails(candidates)

    run_parallel(partial(run_deployed, references), candidate_side, apart=apart)
    found = [judged_by_candidate(*pair, bindings, terms) for pair in pairs]
    doubtful = [pair[0] for pair, each in zip(pairs, found, strict=True) if each is None]
    if doubtful:
        run_oracles(doubtful)
        draw_tails(doubtful)
    return found


def _refuse_fatal(*sides: Comparand) -> None:
    """Raise an error that ends a runtime: later samples would fail in the same way."""
    for side in sides:
        for seen in (side.runtime_outputs(), side.oracle_outputs()):
            if isinstance(seen, IsomorphError) and seen.code in FATAL:
                raise seen


def _fine(comparison: Comparison) -> bool:
    return all(each.verdict in FINE for each in comparison.divergences)


def _identical(
    reference: Comparand, candidate: Comparand, bindings: Sequence[Binding]
) -> Comparison | None:
    """Return the comparison if both runs and both oracles are equal; None otherwise."""
    runs = _side_by_side(reference.runtime_outputs(), candidate.runtime_outputs(), bindings)
    if runs is None:
        return None
    if _side_by_side(reference.oracle_outputs(), candidate.oracle_outputs(), bindings) is None:
        return None
    # A run that is far from its own oracle needs the full comparison with a budget.
    if any(not np.all(np.isfinite(ref)) for ref, _ in runs.values() if ref.dtype.kind == "f"):
        return None
    return Comparison(
        divergences=tuple(
            Divergence(
                reference_output=pair.reference,
                candidate_output=pair.candidate,
                dtype=str(runs[pair.reference][1].dtype),
                shape=tuple(runs[pair.reference][1].shape),
                verdict=Verdict.EQUIVALENT,
                reason=_SAME,
                observed=ErrorTerm(
                    distance=distance(*reversed(runs[pair.reference])),
                    budget=Budget(derivation=_SAME, ratio=0.0),
                ),
            )
            for pair in bindings
        ),
        rearranged={},
        bindings=tuple(bindings),
    )


def _side_by_side(
    left: Mapping[str, Array] | IsomorphError,
    right: Mapping[str, Array] | IsomorphError,
    bindings: Sequence[Binding],
) -> dict[str, tuple[Array, Array]] | None:
    """Return both values of each bound output if all are present and equal."""
    if isinstance(left, IsomorphError) or isinstance(right, IsomorphError):
        return None
    if not all(pair.reference in left and pair.candidate in right for pair in bindings):
        return None
    found = {pair.reference: (left[pair.reference], right[pair.candidate]) for pair in bindings}
    equal = all(
        ref.dtype == cand.dtype and not differs({"": ref}, {"": cand})
        for ref, cand in found.values()
    )
    return found if equal else None

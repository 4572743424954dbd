"""The tokens that two models choose, and whether rounding explains that they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.decoding import TokenChoice, TokenJudgment
from isomorph.core.decoding_limits import TOP_K
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.decoding.rollout import last_scores
from isomorph.measure.pair_evidence import narrower_run_dtype
from isomorph.measure.precision import lower_precision
from isomorph.measure.run_time_quantizers import run_time_quantizers
from isomorph.measure.spread import FALSE_ALARM, merged, student

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.spread import Spread

Allowed = Callable[[int, int, int], float | None]
"""How far rounding may move the difference of two logits: of a row, at two tokens."""


def choices(
    reference: Array, candidate: Array, verdict: Verdict | None, allowed: Allowed
) -> tuple[TokenChoice, ...]:
    """The choice of each row, from the logits of both sides at one position."""
    return tuple(
        choice(row, reference[row], candidate[row], verdict, allowed)
        for row in range(reference.shape[0])
    )


def choice(
    row: int, reference: Array, candidate: Array, verdict: Verdict | None, allowed: Allowed
) -> TokenChoice:
    """Judge the candidate's token in one row.

    Two logits may each be off by their budget, and their difference by both. ``verdict`` is that
    of the logits: within their budget, no token differs by more than that.
    """
    own, other = int(np.argmax(reference)), int(np.argmax(candidate))
    if own == other:
        second = float(np.partition(reference, -2)[-2]) if reference.size > 1 else -np.inf
        margin = float(reference[own]) - second
        return TokenChoice(
            row=row, reference=own, candidate=other, judgment=TokenJudgment.SAME, margin=margin
        )
    margin = float(reference[own] - reference[other])
    limit = allowed(row, own, other)
    if verdict is Verdict.EQUIVALENT or (limit is not None and margin <= limit):
        judgment = TokenJudgment.TIE
    elif verdict is Verdict.DEGRADED:
        judgment = TokenJudgment.LOSS
    elif verdict is Verdict.DIVERGENT:
        judgment = TokenJudgment.WRONG
    else:
        judgment = TokenJudgment.OPEN
    return TokenChoice(
        row=row, reference=own, candidate=other, judgment=judgment, margin=margin, allowed=limit
    )


def judged_logits(graphs: Iterable[Graph], verdict: Verdict | None) -> Verdict | None:
    """The verdict on logits as it bears on a token.

    Where kernels quantize activations when they run, equivalent models differ by more than
    rounding: a token that differs by that is a loss of these runs, and no tie.
    """
    if verdict is Verdict.EQUIVALENT and any(run_time_quantizers(graph) for graph in graphs):
        return Verdict.DEGRADED
    return verdict


def top_k_agreement(reference: Array, candidate: Array) -> float:
    """The share of the reference's largest logits that are among the candidate's."""
    count = min(TOP_K, reference.shape[1])
    both = [np.argpartition(-each, count - 1, axis=1)[:, :count] for each in (reference, candidate)]
    shared = [len(set(own) & set(other)) for own, other in zip(*both, strict=True)]
    return float(sum(shared) / (count * len(shared)))


def rounding_of_difference(
    sides: tuple[EvaluatedModel, EvaluatedModel], names: tuple[str, str]
) -> Allowed:
    """How far rounding moves the difference of two logits; measured where it is asked for."""

    def allowed(row: int, one: int, other: int) -> float | None:
        spreads = [_at(side.rounding(), name) for side, name in zip(sides, names, strict=True)]
        # A candidate of lower precision may have any noise: a tie is one of the reference.
        lossy = lower_precision(*(side.model.graph for side in sides)) or narrower_run_dtype(*sides)
        both = spreads[0] if lossy else merged(*spreads)
        if both is None or both.deviation is None:
            return None
        deviation = last_scores(both.deviation)[row]
        times = student(both.deviation.size, both.freedom, FALSE_ALARM)
        return float(times * (deviation[one] + deviation[other]))

    return allowed


def _at(found: Mapping[str, Spread] | IsomorphError, name: str) -> Spread | None:
    return None if isinstance(found, IsomorphError) else found.get(name)

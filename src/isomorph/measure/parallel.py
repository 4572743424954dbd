"""Evaluate both models in parallel: each has a worker process of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING

from isomorph.core.cost import waiting

if TYPE_CHECKING:
    from isomorph.measure.comparand import Comparand
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.evaluated_tail import EvaluatedTail


def evaluate_all(*sides: Comparand) -> None:
    """Run each model and its oracle, and draw its rounding; each side keeps the results."""
    waiting = [side for side in sides if side.pending()]
    run_parallel(*(_everything(side) for side in waiting), apart=_apart(*sides))


def evaluate_tails(*sides: EvaluatedModel) -> tuple[EvaluatedTail, EvaluatedTail] | None:
    """Run each model and its oracle; return the tails of both, or None where one has none."""

    def work(side: EvaluatedModel) -> Callable[[], object]:
        return lambda: (side.runtime_outputs(), side.oracle_outputs())

    waiting = [side for side in sides if side.pending(rounding=False)]
    run_parallel(*map(work, waiting), apart=_apart(*sides))
    tails = [side.tail() for side in sides]
    first, second = tails
    return None if first is None or second is None else (first, second)


def run_parallel(*work: Callable[[], object], apart: bool) -> None:
    """Call all functions, in threads if ``apart``; the first error is raised."""
    if not apart or len(work) < 2:
        for each in work:
            each()
        return
    pool = ThreadPoolExecutor(len(work), thread_name_prefix="isomorph side")
    try:
        # Each thread has a context of its own: limits that it hits are noted for this check.
        futures = [pool.submit(copy_context().run, each) for each in work]
        with waiting():
            for future in futures:
                future.result()
    finally:
        # After an interruption the host is closed, which ends what the threads wait for.
        pool.shutdown(wait=False, cancel_futures=True)


def _everything(side: Comparand) -> Callable[[], object]:
    def work() -> None:
        side.runtime_outputs()
        side.oracle_outputs()
        side.rounding()

    return work


def _apart(*sides: Comparand) -> bool:
    return all(side.isolated for side in sides)


def allowances(
    reference: Comparand, candidate: Comparand, ref: tuple[str, ...], cand: tuple[str, ...]
) -> None:
    """Evaluate the allowance of both sides, for the constants that the other lacks."""
    run_parallel(
        lambda: reference.allowance(ref),
        lambda: candidate.allowance(cand),
        apart=_apart(reference, candidate),
    )

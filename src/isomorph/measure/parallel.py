"""Both sides at the same time: each has a worker process of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.measure.evaluated_model import Comparand


def ahead(*sides: Comparand) -> None:
    """Run each model, evaluate and disturb it; what comes of it, each side keeps."""
    at_once(*(_everything(side) for side in sides), apart=_apart(*sides))


def at_once(*work: Callable[[], object], apart: bool) -> None:
    """Do all of it, in threads if the workers stand apart; the first error is raised."""
    if not apart or len(work) < 2:
        for each in work:
            each()
        return
    pool = ThreadPoolExecutor(len(work), thread_name_prefix="isomorph side")
    try:
        # Each thread has a context of its own: limits that it hits are noted for this check.
        for future in [pool.submit(copy_context().run, each) for each in work]:
            future.result()
    finally:
        # Whoever interrupts us closes the host next, which ends what the threads wait for.
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
    """The allowance of either side, for the constants that the other does not hold."""
    at_once(
        lambda: reference.allowance(ref),
        lambda: candidate.allowance(cand),
        apart=_apart(reference, candidate),
    )

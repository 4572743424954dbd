"""Evaluate a model on many samples with few messages to its worker.

Each evaluated model keeps its own results, as if it had been evaluated alone. Where a run fails,
the models without a result are evaluated one by one, when they are asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.cost import phase
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import BATCH_BYTES
from isomorph.core.memory import share_of_memory
from isomorph.core.protocols import RunsMany
from isomorph.measure.graph_tail import tail_of

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Arrays, RunRequest
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.measure.noise_draws import DrawnNoise, NoiseDraws

_MOST_SAMPLES = 32
_COPIES = 8
"""Arrays of the size of the outputs that a sample holds: runs, oracles, and sums of draws."""


def run_together(models: Sequence[EvaluatedModel]) -> None:
    """Run one model and its oracle on the feeds of all; each keeps its results."""
    run_deployed(models)
    run_oracles(models)


def run_deployed(models: Sequence[EvaluatedModel]) -> None:
    """Run one model on the feeds of all; each keeps its results."""
    with phase("run"):
        _kept(models, lambda each: each.runtime(), lambda each, found: each.keep_run(found))


def run_oracles(models: Sequence[EvaluatedModel]) -> None:
    """Run the oracle of one model on the feeds of all; each keeps its results."""
    with phase("oracle"):
        _kept(models, lambda each: each.oracle(), lambda each, found: each.keep_oracle(found))


def draw_tails(models: Sequence[EvaluatedModel]) -> None:
    """Make the first draws in the tails of all; each keeps its results."""
    tails = [tail for tail in (each.tail() for each in models) if tail is not None]
    if not tails:
        return
    requests = [tail.first_requests() for tail in tails]
    with phase("rounding"):
        found = _run_many(models[0].oracle, [one for each in requests for one in each])
    if found is None:
        return
    for tail, wanted in zip(tails, requests, strict=True):
        tail.add_first(found[: len(wanted)])
        del found[: len(wanted)]


def draw_noise(models: Sequence[EvaluatedModel], drawn: Sequence[DrawnNoise]) -> None:
    """Draw these noises as often as stated for all models; each keeps its results.

    Draws of one noise follow each other: constants that it moves are moved once for all models.
    """
    for noise in drawn:
        own = [(each, made) for each in models if (made := each.draws_like(noise)) is not None]
        with phase(noise.what):
            while any(made.drawn < noise.draws for _, made in own):
                held = sum(made.bytes_of_draw for _, made in own)
                rounds = max(1, share_of_memory(BATCH_BYTES) // max(held, 1))
                until = min(made.drawn for _, made in own) + rounds
                if not _drawn_until(own, min(until, noise.draws)):
                    break


def _drawn_until(own: Sequence[tuple[EvaluatedModel, NoiseDraws]], draws: int) -> bool:
    """Draw until each has so many; False where that fails."""
    requests = [made.requests(draws, each.feeds) for each, made in own]
    # First the next draw of all models, then that behind it.
    order = sorted((at, place) for place, each in enumerate(requests) for at in range(len(each)))
    found = _run_many(own[0][0].oracle, [requests[place][at] for at, place in order])
    for (_, place), result in zip(order, found or (), strict=False):
        own[place][1].add([result])
    return found is not None


def samples_at_once(models: Sequence[EvaluatedModel], number: int) -> int:
    """Return how many samples like these are evaluated together; few at first.

    Once a sample shows that the models differ, what was computed for those after it is dropped.
    """
    bytes_each = sum(map(_bytes, models))
    return max(1, min(_MOST_SAMPLES, number, share_of_memory(BATCH_BYTES) // max(bytes_each, 1)))


def _kept(
    models: Sequence[EvaluatedModel],
    session: Callable[[EvaluatedModel], Session],
    keep: Callable[[EvaluatedModel, Arrays], None],
) -> None:
    try:
        opened = session(models[0])
        requests = [each.request(opened) for each in models]
    except IsomorphError:
        return
    found = _run_many(lambda: opened, requests)
    for each, result in zip(models, found or (), strict=False):
        keep(each, result)


def _run_many(
    session: Callable[[], Session], requests: Sequence[RunRequest]
) -> list[Arrays] | None:
    """Return all results; None where the session has no such ability, or one of them fails."""
    try:
        opened = session()
        return opened.run_many(requests) if isinstance(opened, RunsMany) else None
    except IsomorphError:
        return None


def _bytes(model: EvaluatedModel) -> int:
    """Return about how many bytes the results of a sample hold."""
    return sum(_sizes(model))


def _sizes(model: EvaluatedModel) -> Iterator[int]:
    graph, tail = model.model.graph, tail_of(model.model.graph)
    yield from (np.asarray(value).nbytes for value in model.feeds.values())
    yield 8 * (tail.entering if tail is not None else 0)
    for spec in graph.outputs:
        sizes = [size for size in spec.shape or () if isinstance(size, int)]
        yield 8 * _COPIES * math.prod(sizes)

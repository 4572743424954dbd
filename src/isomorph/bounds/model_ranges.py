"""The ranges of the tensors of an opened model, with samples and stated ranges of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.ranges import RangeAnalysis
from isomorph.core.errors import IsomorphError
from isomorph.core.ranges import OpenReason, RangeStatus
from isomorph.inputs.input_space import Bounds, first_sample, input_space, measured_bounds

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.ranges import OverflowInput, Ranges
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle


def model_ranges(
    handle: ModelHandle,
    samples: Sequence[Sample],
    stated: Mapping[str, Bounds],
    dims: Mapping[str, int],
    *,
    to: str | None,
    seed: int,
    bounds_only: bool = False,
    progress: Callable[[str, str], None] | None = None,
) -> Ranges:
    """The ranges of an opened model; an overflow is confirmed by its usual run.

    With ``bounds_only``, no input is searched for: what is not proven safe is open.
    """
    graph = handle.model.graph
    feeds = [dict(each.feeds) for each in samples]
    measured = measured_bounds(feeds)
    first = feeds[0] if feeds else first_sample(graph, dims, seed)
    shapes = {name: value.shape for name, value in first.items()}
    # Samples of other sizes widen the ranges; the bounds are those of the first one's sizes.
    alike = [
        (each.feeds, each.origin)
        for each in samples
        if all(value.shape == shapes[name] for name, value in each.feeds.items())
    ]
    analysis = RangeAnalysis(
        handle=handle,
        space=input_space(graph, first, stated, measured),
        samples=alike or [(first, f"generated, seed {seed}")],
        given=bool(alike),
        target=to,
        seed=seed,
        bounds_only=bounds_only,
        on_progress=progress,
    )
    found = analysis.ranges()
    return replace(found, overflows=tuple(_confirmed(handle, each) for each in found.overflows))


def _confirmed(handle: ModelHandle, shown: OverflowInput) -> OverflowInput:
    """The overflow, with the largest number of the tensor in the usual run."""
    try:
        session = handle.run()
        if session.capabilities.fetch != "all":
            return shown
        value = extreme_number(session.run(shown.inputs, [shown.tensor])[shown.tensor])
    except IsomorphError:
        return shown
    return replace(shown, run_value=value)


def extreme_number(value: object) -> float:
    """The number of a tensor that is farthest from zero; NaN where one is no number."""
    with np.errstate(invalid="ignore"):
        wide = np.asarray(value).astype(np.float64).reshape(-1)
    return float(wide[int(np.abs(wide).argmax())]) if wide.size else float("nan")


def nodes_to_keep(graph: Graph, found: Ranges) -> tuple[str, ...]:
    """The nodes that compute a tensor that is not proven safe, and those that read it.

    Where these stay in a wide type, what follows from them is safe if its own bound is.
    """
    unsafe = {each.name for each in found.tensors if each.status is not RangeStatus.SAFE
              and each.reason is not OpenReason.BEHIND_OVERFLOW}  # fmt: skip
    return tuple(node.name for node in graph.nodes if unsafe & {*node.inputs, *node.outputs})

"""Models as functions of a sample: names, types and arrangements settled, outputs by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle


Side = Callable[["Sample"], "Arrays"]
"""Runs a model on a sample: all its outputs by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Reference and candidate; ``unordered`` where the outputs of one are a dict."""

    both: tuple[Side, Side]
    unordered: bool = False
    prepare: Callable[[Sequence[Sample]], None] = lambda _: None
    """Evaluates both models on these samples at once; their results are kept until the next."""
    at_once: Callable[[Sample, int], int] = lambda _sample, _most: 1
    """How many samples like this one, of so many at most, are prepared at once."""
    moved: Callable[[], bool] = lambda: False
    """Whether the candidate takes an input with its channel axis moved, as far as was seen."""


def alone(candidate: ModelHandle) -> Sides:
    """A model's own oracle as the reference of its run."""

    def oracle(sample: Sample) -> Arrays:
        return outputs_on(candidate, candidate.oracle(), sample.feeds)

    def run(sample: Sample) -> Arrays:
        return outputs_on(candidate, candidate.run(), sample.feeds)

    return Sides(both=(oracle, run))


def outputs_on(handle: ModelHandle, session: Session, feeds: Mapping[str, Array]) -> Arrays:
    """Every output of a model in one of its sessions, by name."""
    names = list(dict.fromkeys(spec.name for spec in handle.model.graph.outputs))
    return session.run(feeds, names)

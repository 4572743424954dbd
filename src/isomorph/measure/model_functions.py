"""Models as functions of a sample: names, types and arrangements settled, outputs by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.report import Binding
from isomorph.inputs import feeds as feeding
from isomorph.match.axis_layout import moves_channels
from isomorph.measure import input_layout
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.output_order import unordered

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle


Feeds = Mapping[str, "Array"]

Side = Callable[["Sample"], "Arrays"]
"""Runs a model on a sample: all its outputs by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Reference and candidate; ``unordered`` where the outputs of one are a dict."""

    both: tuple[Side, Side]
    unordered: bool = False
    feeds: Callable[[Sample], tuple[Feeds, Feeds]] = lambda sample: (sample.feeds, sample.feeds)
    """What each side is fed with, under its own names and in its own arrangement."""
    moved: Callable[[], bool] = lambda: False
    """Whether the candidate takes an input with its channel axis moved, as far as was seen."""


def alone(candidate: ModelHandle) -> Sides:
    """A model's own oracle as the reference of its run."""

    def meaning(sample: Sample) -> Arrays:
        return _outputs(candidate, candidate.oracle(), sample.feeds)

    def run(sample: Sample) -> Arrays:
        return _outputs(candidate, candidate.run(), sample.feeds)

    return Sides(both=(meaning, run))


def together(
    reference: ModelHandle,
    candidate: ModelHandle,
    inputs: Sequence[Binding],
    stated: Mapping[str, tuple[int, ...]],
    seed: int,
) -> Sides:
    """Both as deployed; how the candidate takes its inputs is settled once for each shape."""
    graph = candidate.model.graph
    taker = input_layout.Taker(
        inputs=graph.inputs,
        outputs=list(dict.fromkeys(spec.name for spec in graph.outputs)),
        oracle=candidate.oracle,
    )
    settled: dict[tuple[tuple[int, ...], ...], tuple[input_layout.Layout, ...]] = {}

    def ref(sample: Sample) -> Arrays:
        return _outputs(reference, reference.run(), sample.feeds)

    def fed(sample: Sample) -> tuple[Feeds, Feeds]:
        given = reference.real(sample.feeds)
        shapes = tuple(np.shape(given[pair.reference]) for pair in inputs)
        if shapes not in settled:
            evaluated = EvaluatedModel.of(reference, given, seed=seed)
            settled[shapes] = input_layout.settle(evaluated, taker, inputs, stated)
        feeds = feeding.carried_over(given, inputs, graph.inputs)
        return given, input_layout.rearranged(feeds, settled[shapes])

    def cand(sample: Sample) -> Arrays:
        return _outputs(candidate, candidate.run(), fed(sample)[1])

    def moved() -> bool:
        return any(moves_channels(one.rearrangement) for each in settled.values() for one in each)

    return Sides(
        both=(ref, cand),
        unordered=unordered(reference.model, candidate.model),
        feeds=fed,
        moved=moved,
    )


def _outputs(opened: ModelHandle, session: Session, feeds: Mapping[str, Array]) -> Arrays:
    names = list(dict.fromkeys(spec.name for spec in opened.model.graph.outputs))
    return session.run(feeds, names)

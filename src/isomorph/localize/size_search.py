"""Other sizes of axes that both models leave free: a size that was frozen in a constant.

Given inputs have one size, at which a frozen one is right. The given values are repeated or cut to
other sizes, so that they stay valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.coverage import InputKind
from isomorph.core.errors import FATAL, IsomorphError, RuntimeFailedError
from isomorph.core.limits import RESIZED_ELEMENTS
from isomorph.core.messages import message
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.inputs.dynamic_sizes import free_axes
from isomorph.inputs.generate import axis_name
from isomorph.localize.input_search import Trial, encoded
from isomorph.localize.output_effect import Effect, near_outputs, numeric, same_text
from isomorph.match.attributes import digest
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.localize.weight_effect import ConstantExperiment
    from isomorph.measure.evaluated_model import EvaluatedModel

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSizes:
    """The result of trying other sizes; ``differs`` describes the first that is wrong."""

    findings: tuple[Finding, ...] = ()
    differs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrongSize:
    trial: Trial
    sizes: Sizes
    reason: str
    output: str | None = None
    node: str | None = None


def compared_sizes(
    experiment: ConstantExperiment, bindings: Sequence[Binding], bound: Sizes
) -> ComparedSizes:
    """Run both models at other sizes of the axes that both leave free and the user did not bind."""
    sides = experiment.sides
    if any(side.oracle().capabilities.feed != "all" for side in sides):
        return ComparedSizes()
    there = {spec.name: spec.shape for spec in sides[1].model.graph.inputs}
    others = {pair.reference: there.get(pair.candidate) for pair in bindings}
    graph = sides[0].model.graph
    given = {name: np.asarray(value) for name, value in sides[0].feeds.items()}
    free = {name: at for name, at in free_axes(graph, others).items() if name not in bound}
    for batch in (True, False):
        axes = frozenset(name for name, place in free.items() if (place == 0) is batch)
        # Doubled sizes stay even; a table of positions may end before them.
        for sizes in _sizes(graph, given, axes, batch=batch):
            trial = _resized(graph, given, sizes)
            ref = sides[0].with_feeds(trial.feeds)
            if not _accepts(ref):
                continue
            wrong = _wrong(experiment, ref, trial, sizes)
            if wrong is not None:
                finding = _finding(wrong, sides[1].model.graph)
                differs = message("DIVERGENT.at_other_sizes", sizes=_text(sizes))
                return ComparedSizes(findings=(finding,), differs=differs)
            break
    return ComparedSizes()


def _sizes(
    graph: Graph, feeds: Mapping[str, Array], axes: frozenset[str], *, batch: bool
) -> Iterator[Sizes]:
    """Yield other sizes of the batch, or of all other axes."""
    given: dict[str, int] = {}
    for name, place, axis in _dynamic_axes(graph):
        if axis in axes and name in feeds and feeds[name].ndim > place:
            given.setdefault(axis, int(feeds[name].shape[place]))
    if not given or min(given.values()) < 1:
        return
    if batch:
        yield {name: 1 if size > 1 else 2 for name, size in given.items()}
        return
    doubled = {name: 2 * size for name, size in given.items()}
    if sum(value.size for value in _resized(graph, feeds, doubled).feeds.values()) <= (
        RESIZED_ELEMENTS
    ):
        yield doubled
    yield {name: max(size // 2, 1) for name, size in given.items()}


def _dynamic_axes(graph: Graph) -> Iterator[tuple[str, int, str]]:
    """Yield the inputs with the places and the names of their dynamic axes."""
    for spec in graph.inputs:
        for place, size in enumerate(spec.shape or ()):
            if not isinstance(size, int):
                yield spec.name, place, axis_name(spec.name, place, size)


def _resized(graph: Graph, feeds: Mapping[str, Array], sizes: Sizes) -> Trial:
    """Repeat or cut the given values along the axes with other sizes."""
    made = dict(feeds)
    for name, place, axis in _dynamic_axes(graph):
        if axis in sizes and name in made:
            rows = np.arange(sizes[axis]) % max(made[name].shape[place], 1)
            made[name] = np.take(made[name], rows, axis=place)
    recipe = message("INPUT.repeated", sizes=_text(sizes))
    return Trial(recipe=recipe, feeds=made, kind=InputKind.GIVEN, resized=True)


def _accepts(reference: EvaluatedModel) -> bool:
    """Whether the reference runs at these sizes, and something is left of its outputs."""
    ran = reference.runtime_outputs()
    return not isinstance(ran, IsomorphError) and all(each.size for each in ran.values())


def _wrong(
    experiment: ConstantExperiment, ref: EvaluatedModel, trial: Trial, sizes: Sizes
) -> _WrongSize | None:
    """Return how the candidate differs at these sizes, if it does."""
    candidate = experiment.sides[1]
    try:
        feeds = experiment.carry(ref)
        if not _declared(feeds, candidate.model.graph):
            return None
        cand = candidate.with_feeds(feeds)
        expected, actual = ref.runtime_outputs(), cand.runtime_outputs()
        if isinstance(actual, RuntimeFailedError) and actual.code not in FATAL:
            reason = message("SHAPE_DEPENDENT.refused", why=actual.sentence)
            return _WrongSize(trial=trial, sizes=sizes, reason=reason, node=actual.node)
        if isinstance(actual, IsomorphError):
            return None
        if _same(expected, actual, experiment.outputs):
            return None
        found = experiment.judged(ref, cand, trial, Effect.UNDECIDED)
    except (IsomorphError, ValueError):
        return None  # an input that cannot be arranged for the candidate shows nothing
    if not found.divergent:
        return None
    reason = message("SHAPE_DEPENDENT.output", output=found.output)
    return _WrongSize(trial=trial, sizes=sizes, reason=reason, output=found.output)


def _same(
    expected: Mapping[str, Array] | IsomorphError,
    actual: Mapping[str, Array] | IsomorphError,
    outputs: Sequence[Binding],
) -> bool:
    """Whether the outputs have the same shapes and are so close that they need not be judged."""
    one, two = numeric(expected), numeric(actual)
    shaped = all(
        one[pair.reference].shape == two[pair.candidate].shape
        for pair in outputs
        if pair.reference in one and pair.candidate in two
    )
    return shaped and near_outputs(one, two, outputs) and same_text(expected, actual, outputs)


def _declared(feeds: Mapping[str, Array], graph: Graph) -> bool:
    """Whether all sizes are those that the candidate declares for its inputs."""
    declared = {spec.name: spec.shape for spec in graph.inputs if spec.shape is not None}
    return all(
        not isinstance(size, int) or size == actual
        for name, value in feeds.items()
        for size, actual in zip(declared.get(name, ()), value.shape, strict=False)
    )


def _finding(wrong: _WrongSize, candidate: Graph) -> Finding:
    maker = Topology(candidate).maker.get(wrong.output or "")
    node = wrong.node or (maker.name if maker is not None else None)
    evidence: dict[str, Any] = {
        "smallest": dict(wrong.sizes),
        Fact.NUMBERS: digest("sizes", *sorted(wrong.sizes)),
        Fact.REACHED_BY: wrong.trial.recipe,
        Fact.OUTPUT: wrong.output,
    }
    fix = message("FIX.dynamic_or_given")
    if (inputs := encoded(wrong.trial)) is not None:
        evidence[Fact.INPUTS] = inputs
        fix = message("FIX.then_see", fix=fix)
    return Finding(
        code="SHAPE_DEPENDENT",
        cause="shape",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.LATENT,
        summary=message(
            "SHAPE_DEPENDENT.sizes",
            right=message("INPUT.given_sizes"),
            wrong=_text(wrong.sizes),
            reason=wrong.reason,
        ),
        node=node,
        nodes=(node,) if node is not None else (),
        evidence=evidence,
        fix=fix,
    )


def _text(sizes: Sizes) -> str:
    return ", ".join(f"{axis}={size}" for axis, size in sizes.items())

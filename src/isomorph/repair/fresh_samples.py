"""Fresh inputs that look like the given ones: a repair must hold beyond what it was fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.checking.paired_by_value import decided_by_value
from isomorph.checking.prepare import prepare_pair
from isomorph.core.coverage import InputKind
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.messages import message
from isomorph.inputs.feeds import Sample
from isomorph.inputs.generate import SAMPLES, generate
from isomorph.inputs.masks import UNSEEN, hidden_by, longest
from isomorph.match.binding import bind_inputs
from isomorph.sessions.fetched_feeds import present

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.model import Dimension, Graph
    from isomorph.core.trace import Array, Arrays
    from isomorph.sessions.model_handle import ModelHandle

_FRESH = 7919
"""Added to the user's seed, so that fresh inputs are never the ones of the check."""


def proof_samples(
    graph: Graph,
    given: Sample | None,
    dims: Mapping[str, int],
    other_shapes: Mapping[str, Sequence[Dimension] | None],
    seed: int,
) -> list[Sample]:
    """The given inputs first, then fresh ones; without given ones, made-up ones of two kinds."""
    if given is None:
        return [
            Sample(
                origin=message("INPUT.generated_kind", kind=kind, seed=number),
                feeds=generate(graph, dims, sample=kind, seed=number, other_shapes=other_shapes),
                kind=InputKind.GENERATED,
            )
            for number in (seed, seed + _FRESH)
            for kind in _kinds(graph)
        ]
    fresh = _resampled(graph, given.feeds, seed + _FRESH)
    return [given, *fresh, _redrawn(graph, given.feeds, seed)]


def _kinds(graph: Graph) -> tuple[str, ...]:
    floats = any("float" in (spec.dtype or "") for spec in graph.inputs)
    return SAMPLES if floats else SAMPLES[:1]


def _resampled(graph: Graph, feeds: Arrays, seed: int) -> list[Sample]:
    """Made up for the graph, in the given shapes, with the given mean and spread.

    Integers stay between the smallest and the largest given one.
    """
    arrays = present(feeds)
    specs = tuple(
        replace(spec, shape=arrays[spec.name].shape) if spec.name in arrays else spec
        for spec in graph.inputs
    )
    try:
        made = generate(replace(graph, inputs=specs), {}, sample=SAMPLES[0], seed=seed)
    except UsageError:
        return []  # a signature for which nothing can be made up is proven on redrawn values
    kept = _structured(graph, arrays, seed)
    fresh = {
        name: _scaled(made[name], array)
        for name, array in arrays.items()
        if name in made and name not in kept
    }
    fresh |= kept
    origin = message("INPUT.like_given", seed=seed)
    return [Sample(origin=origin, feeds={**arrays, **fresh}, kind=InputKind.GENERATED)]


def _scaled(made: Array, given: Array) -> Array:
    if given.dtype.kind in "iu" and given.size:
        # What indexes something of a size unknown here is valid where the given ones were.
        low, count = int(given.min()), int(given.max()) - int(given.min()) + 1
        return np.asarray(low + made.astype(np.int64) % count).astype(given.dtype)
    if given.dtype.kind != "f" or not given.size or not np.isfinite(given).all():
        return given if given.dtype.kind == "f" else made.astype(given.dtype)
    wide = given.astype(np.float64)
    moved = wide.mean() + wide.std() * made.astype(np.float64)
    fresh: Array = np.clip(moved, wide.min(), wide.max()).astype(given.dtype)
    return fresh


def _structured(graph: Graph, feeds: Arrays, seed: int) -> dict[str, Array]:
    """Masks and lengths with the rows of the batch in another order, all in the same.

    What hides elements is valid as a whole: drawn one by one, its elements may hide everything.
    """
    arrays = present(feeds)
    rows = max((array.shape[0] for array in arrays.values() if array.ndim), default=0)
    order = np.random.default_rng([seed, _FRESH]).permutation(rows)
    return {
        name: array[order] if array.ndim and array.shape[0] == rows else array
        for name, array in arrays.items()
        if _of_structure(graph, name, array)
    }


def _of_structure(graph: Graph, name: str, array: Array) -> bool:
    if array.dtype.kind == "b" or longest(graph, name) is not None:
        return True
    numbers = set(np.unique(array)[:3].tolist()) if array.dtype.kind in "iuf" else {2}
    if numbers <= {0, 1} and array.dtype.kind in "iu":
        return True
    if array.dtype.kind == "f" and array.size and len(numbers) < 3:
        return bool(np.min(array) <= UNSEEN)  # what is added to scores
    return array.dtype.kind in "iu" and hidden_by(graph, name) is not None and len(numbers) < 3


def _redrawn(graph: Graph, feeds: Arrays, seed: int) -> Sample:
    """Every element drawn anew from the given values of its input: valid wherever those were."""
    drawn: dict[str, Array] = dict(_structured(graph, feeds, seed))
    for position, (name, value) in enumerate(feeds.items()):
        if name in drawn:
            continue
        array = np.asarray(value)
        random = np.random.default_rng([seed, _FRESH, position])
        redrawn = array.dtype.kind in "fiub" and array.size
        drawn[name] = random.choice(array.reshape(-1), size=array.shape) if redrawn else array
    origin = message("INPUT.redrawn", seed=seed)
    return Sample(origin=origin, feeds=drawn, kind=InputKind.GENERATED)


def proving_samples(
    reference: ModelHandle, candidate: ModelHandle, given: Sample | None, options: CheckConfig
) -> list[Sample]:
    """The inputs on which a repair has to hold: the given ones, and fresh ones."""
    left, right = reference.model.graph, candidate.model.graph
    stated = {**options.bind_inputs, **decided_by_value(reference, candidate, options)}
    inputs = bind_inputs(left.inputs, right.inputs, stated)
    there = {spec.name: spec.shape for spec in right.inputs}
    shapes = {pair.reference: there[pair.candidate] for pair in inputs}
    samples = proof_samples(left, given, options.dims, shapes, options.seed)
    return (
        samples if given is not None else [*samples, *of_other_sizes(reference, candidate, options)]
    )


def of_other_sizes(
    reference: ModelHandle, candidate: ModelHandle, options: CheckConfig
) -> list[Sample]:
    """Made-up inputs of the other sizes that a check tries and the reference takes."""
    prepared = prepare_pair(reference, candidate, options)
    reference = prepared.reference
    outputs = [spec.name for spec in reference.model.graph.outputs]
    taken = []
    for sample in prepared.samples_of_other_sizes():
        try:
            reference.run().run(reference.real(sample.feeds), outputs)
        except IsomorphError:
            continue
        taken.append(replace(sample, sizes={}))
    return taken

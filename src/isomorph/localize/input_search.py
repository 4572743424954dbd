"""Other inputs on which a difference may reach an output: seeded, and a bounded number."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.coverage import InputKind
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import REPORTED_INPUT_BYTES, TRIED_WEIGHTS
from isomorph.core.messages import message
from isomorph.core.stated_numbers import FEWEST_TRIALS, INPUT_SCALES, OTHER_INPUT_SEEDS
from isomorph.inputs.dynamic_sizes import next_sizes, other_sizes
from isomorph.inputs.generate import SAMPLES, counts_freely, generate
from isomorph.localize.input_domain import larger, out_of_range, outside_domain
from isomorph.localize.output_effect import near_outputs, numeric
from isomorph.measure.compare import Terms, compare
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.verdict import graphs_differ

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.model import Graph
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array, Arrays

_SEEDS_BETWEEN = 1000
"""Seeds between those of two factors: more than are used with one."""

Carry = Callable[["EvaluatedModel"], "Mapping[str, Array]"]
"""Returns the candidate's feeds for the feeds of a reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One input that was tried, and how it was made.

    ``recipe`` is text for a report; ``kind`` is whether it was made from the given inputs.
    ``resized`` states that it has other sizes than the given ones.
    """

    recipe: str
    feeds: Mapping[str, Array]
    kind: InputKind = InputKind.GIVEN
    resized: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingInput:
    """An input on which outputs differ, and both models on it."""

    trial: Trial
    sides: tuple[EvaluatedModel, EvaluatedModel]
    wrong: tuple[Divergence, ...]


def trials(
    graph: Graph, given: Arrays, seed: int, scales: Sequence[float] = INPUT_SCALES
) -> Iterator[Trial]:
    """Yield the given inputs and generated ones, scaled by growing factors and negated.

    Integers are not scaled. The generated ones are others for each factor.
    """
    own = {name: np.asarray(value) for name, value in given.items()}
    shapes = {name: value.shape for name, value in own.items()}
    real = any(value.dtype.kind == "f" for value in own.values())
    for scale in scales:
        times = f", times {scale:g}" if real else ""
        if real and scale != 1.0:
            yield Trial(recipe=message("INPUT.times", factor=scale), feeds=_scaled(own, scale))
        if real:
            yield Trial(recipe=message("INPUT.times", factor=-scale), feeds=_scaled(own, -scale))
        drawn = seed + 1 + _seed_of(scale)
        for sample in SAMPLES:
            try:
                made = generate(graph, {}, sample=sample, seed=drawn, other_shapes=shapes)
            except IsomorphError:
                continue
            if any(made[name].shape != shape for name, shape in shapes.items() if name in made):
                continue
            recipe = message("INPUT.generated_times", sample=sample, seed=drawn, times=times)
            feeds = _scaled(made, scale)
            yield Trial(recipe=recipe, feeds=feeds, kind=InputKind.GENERATED)


def _seed_of(scale: float) -> int:
    """Return what is added to the seed for a factor: tables have other rows selected with it."""
    known = scale in INPUT_SCALES
    return _SEEDS_BETWEEN * (INPUT_SCALES.index(scale) if known else len(INPUT_SCALES))


def other_inputs(
    reference: EvaluatedModel,
    terms: Terms,
    *,
    first: Sequence[Trial] = (),
    scales: Sequence[float] = (),
    sizes: bool = False,
    beyond_given: bool = True,
    ties: bool = True,
) -> Iterator[Trial]:
    """Yield inputs to try besides the given ones, as many as the size of the model allows.

    ``first`` come before all others. ``scales`` are further factors of the inputs; with ``sizes``,
    other sizes of dynamic axes are tried as well; without ``beyond_given``, no input that is larger
    than the given ones; with ``ties``, inputs on which comparisons and roundings have ties: what
    an operator does there depends on the framework.
    """
    graph, feeds, seed = reference.model.graph, reference.feeds, reference.seed
    size = sum(math.prod(each.shape) for each in graph.constants.values())
    most = max(FEWEST_TRIALS, TRIED_WEIGHTS.most // max(size, 1))
    own = {name: np.asarray(value) for name, value in feeds.items()}
    made = [*first, *trials(graph, feeds, seed, INPUT_SCALES[:1])]
    if ties:
        made += _ties(graph, own)
    if sizes:
        made += _resized(graph, own, seed)
    made += trials(graph, feeds, seed, (*INPUT_SCALES[1:], *scales))
    for place in range(1, OTHER_INPUT_SEEDS):
        # The given inputs, larger and negated, are the same for every seed.
        further = trials(graph, feeds, seed + place)
        made += [each for each in further if each.kind is InputKind.GENERATED]
    # An absolute budget states nothing about inputs that are larger than the given ones.
    if terms.budgets or not beyond_given:
        made = [_reduced(each, own) if each.resized else each for each in made]
        made = [each for each in made if not larger(each.feeds, own)]
    yield from made[:most]
    if len(made) > most:
        TRIED_WEIGHTS.reached()


def random_input_count(reference: EvaluatedModel, count: int) -> int:
    """Return how many generated inputs are tried of so many: fewer where the model is large."""
    graph = reference.model.graph
    size = sum(math.prod(each.shape) for each in graph.constants.values())
    # What a model computes counts as well: a small kernel may run over a large image.
    size += sum(
        math.prod(e for e in spec.shape or () if isinstance(e, int))
        for spec in graph.tensors.values()
    )
    most = max(FEWEST_TRIALS, TRIED_WEIGHTS.most // max(4 * size, 1))
    if most < count:
        TRIED_WEIGHTS.reached()
    return min(count, most)


def random_inputs(reference: EvaluatedModel, count: int) -> Iterator[Trial]:
    """Yield so many generated inputs of the given sizes, none where none can be generated."""
    graph = reference.model.graph
    shapes = {name: np.asarray(value).shape for name, value in reference.feeds.items()}
    # Other seeds than those of the inputs that were tried before.
    first = reference.seed + 1 + OTHER_INPUT_SEEDS
    for place in range(count):
        sample, seed = SAMPLES[place % len(SAMPLES)], first + place
        try:
            made = generate(graph, {}, sample=sample, seed=seed, other_shapes=shapes)
        except IsomorphError:
            return
        recipe = message("INPUT.generated", sample=sample, seed=seed)
        yield Trial(recipe=recipe, feeds=made, kind=InputKind.GENERATED)


def one_framework(sides: tuple[EvaluatedModel, EvaluatedModel]) -> bool:
    """Whether both models are of one framework."""
    return sides[0].model.framework == sides[1].model.framework


def _ties(graph: Graph, given: Mapping[str, Array]) -> Iterator[Trial]:
    """Yield inputs on which comparisons and roundings have ties, and integers below zero."""
    if any(value.dtype.kind == "f" for value in given.values()):
        yield Trial(recipe=message("INPUT.zero"), feeds=_scaled(given, 0.0))
        with np.errstate(all="ignore"):
            halves = {
                name: (np.floor(value) + 0.5).astype(value.dtype)
                for name, value in given.items()
                if value.dtype.kind == "f"
            }
        yield Trial(recipe=message("INPUT.halves"), feeds={**given, **halves})
    negated = {
        name: -value
        for name, value in given.items()
        # Rows, masks and lengths are not negative.
        if value.dtype.kind == "i" and counts_freely(graph, name)
    }
    if negated:
        yield Trial(recipe=message("INPUT.negated"), feeds={**given, **negated})


def scales_to(
    numbers: Iterable[float], names: Sequence[str], model: EvaluatedModel
) -> Iterator[float]:
    """Yield factors of the inputs that bring these tensors to sizes between the numbers.

    A node with these parameters may bend at a parameter, or at a quotient of two (the offset of a
    slope). A tensor grows with a power of the inputs at most approximately, so this is a guess.
    """
    values = sorted({abs(each) for each in numbers})
    bends = sorted({*values, *(one / two for one in values for two in values if one != two)})
    if not bends or not names:
        return
    size = _size_at(model.feeds, names, model)
    if size > 0.0 and np.isfinite(size):
        own = {name: np.asarray(value) for name, value in model.feeds.items()}
        power = _power(size, _size_at(_scaled(own, 0.5), names, model))
        inner = [math.sqrt(one * two) for one, two in pairwise(bends)]
        for point in (*inner, 2.0 * bends[-1], 0.5 * bends[0]):
            yield float(f"{(point / size) ** (1.0 / power):.3g}")


def _size_at(feeds: Mapping[str, Any], names: Sequence[str], model: EvaluatedModel) -> float:
    """Return the largest real number of these tensors on an input."""
    try:
        read = model.oracle().run(feeds, list(names))
    except (IsomorphError, ValueError):
        return 0.0
    floats = [np.asarray(each) for each in read.values() if np.asarray(each).dtype.kind == "f"]
    return max((float(np.max(np.abs(each), initial=0.0)) for each in floats), default=0.0)


def _power(size: float, halved: float) -> float:
    """Return the power of the inputs with which tensors grow: 2 for energies, otherwise mostly 1.

    Powers below 1 are those of sums with constants, for which half of the inputs says nothing.
    """
    power = math.log2(size / halved) if 0.0 < halved < size else 1.0
    return max(1.0, round(power, 1))


def _resized(graph: Graph, given: Mapping[str, Array], seed: int) -> Iterator[Trial]:
    """Yield generated inputs with other sizes of dynamic axes."""
    shapes = {name: value.shape for name, value in given.items()}
    for dims in (*next_sizes(graph, shapes), *other_sizes(graph, {}, {}, None)):
        try:
            feeds = generate(graph, dims, sample=SAMPLES[0], seed=seed + 1)
        except IsomorphError:
            continue
        sized = ", ".join(f"{name}={size}" for name, size in dims.items())
        recipe = message("INPUT.generated_sized", sample=SAMPLES[0], seed=seed + 1, sizes=sized)
        yield Trial(recipe=recipe, feeds=feeds, kind=InputKind.GENERATED, resized=True)


def _reduced(trial: Trial, given: Mapping[str, Array]) -> Trial:
    """Return the trial with real numbers that are at most as large as the given ones."""
    feeds = dict(trial.feeds)
    for name, value in feeds.items():
        if larger({name: value}, given):
            most = np.max(np.abs(given[name]), initial=0.0)
            with np.errstate(invalid="ignore", over="ignore"):
                reduced = value * (most / np.max(np.abs(value)))
                feeds[name] = np.clip(reduced, -most, most).astype(value.dtype)
    return replace(trial, feeds=feeds, recipe=message("INPUT.as_large", recipe=trial.recipe))


def _scaled(feeds: Mapping[str, Array], factor: float) -> dict[str, Array]:
    """Multiply float inputs; integers and masks stay as they are, and so stay valid."""
    # A given infinity times 0 is no number, and a large number may become infinite.
    with np.errstate(invalid="ignore", over="ignore"):
        return {
            name: (value * factor).astype(value.dtype) if value.dtype.kind == "f" else value
            for name, value in feeds.items()
        }


def shown_differences(
    sides: tuple[EvaluatedModel, EvaluatedModel],
    given: tuple[EvaluatedModel, EvaluatedModel],
    outputs: Sequence[Binding],
    terms: Terms,
) -> list[Divergence]:
    """Return the outputs in which two graphs differ on another input; none if out of range."""
    # What rounding explains needs no allowance for re-rounded constants.
    first = compare(*sides, outputs, replace(terms, allowance=False)).divergences
    if not any(map(graphs_differ, first)):
        return []
    judged = compare(*sides, outputs, terms).divergences
    wrong = [each for each in judged if graphs_differ(each)]
    return [] if wrong and out_of_range(sides, given) else wrong


def first_that_differs(
    trials: Iterable[Trial],
    sides: tuple[EvaluatedModel, EvaluatedModel],
    outputs: Sequence[Binding],
    terms: Terms,
    carry: Carry,
    *,
    inside_domain: bool = False,
) -> DifferingInput | None:
    """Return the first of these inputs on which the outputs of two graphs differ.

    With ``inside_domain`` inputs that the models may not be made for show nothing: for a search
    to which nothing points out a node that differs.
    """
    reference, candidate = sides
    for trial in trials:
        ref = reference.with_feeds(trial.feeds)
        try:
            cand = candidate.with_feeds(carry(ref))
            if near_outputs(numeric(ref.oracle_outputs()), numeric(cand.oracle_outputs()), outputs):
                continue
            wrong = shown_differences((ref, cand), sides, outputs, terms)
        except (IsomorphError, ValueError):
            continue  # an input that a model rejects shows nothing
        if wrong and not (inside_domain and outside_domain((ref, cand), sides)):
            return DifferingInput(trial=trial, sides=(ref, cand), wrong=tuple(wrong))
    return None


def encoded(trial: Trial) -> dict[str, Any] | None:
    """Encode the inputs for a report; None where they are too large."""
    if sum(value.nbytes for value in trial.feeds.values()) > REPORTED_INPUT_BYTES:
        return None
    return {name: _encoded(value) for name, value in trial.feeds.items()}


def _encoded(value: Array) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
    return {"dtype": str(value.dtype), "shape": list(value.shape), "base64": data}

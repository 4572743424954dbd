"""Feed edge values to a node of one model and to its counterparts in the other, in isolation.

The given inputs exercise a node on few of its possible values. A probe feeds others: negatives,
zeros, ties, large and small ones. Where several tensors of the other model hold the same values,
the node is right if any of them agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.stated_numbers import TENSOR_DRAWS
from isomorph.core.trace import Noise
from isomorph.measure.budget_check import judge
from isomorph.measure.distance import is_inexact, widen
from isomorph.measure.element_errors import stored_rounding
from isomorph.measure.noise_draws import spreads
from isomorph.measure.output_layout import rearranged_spread
from isomorph.measure.spread import FALSE_ALARM, Spread, merged
from isomorph.sessions.fetched_feeds import Source, feeds_from

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.value_match import ValueMatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of both graphs whose inputs and outputs hold the same values."""

    sources: tuple[tuple[str, str, Rearrangement], ...]
    reference: str
    candidate: str
    moved: Rearrangement


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeDifference:
    """A probe on which the two models differ: its inputs and both results."""

    kind: str
    span: Span
    given: Mapping[str, Array] = field(repr=False)
    reference: Array = field(repr=False)
    candidate: Array = field(repr=False)


def probe(
    matcher: ValueMatcher, spans: Sequence[Span], seed: int, numbers: Sequence[float] = ()
) -> ProbeDifference | None:
    """Return the first probe on which no counterpart agrees; None if one always agrees.

    ``numbers`` are constants of the node, beyond which it may do something else.
    """
    first: ProbeDifference | None = None
    for span in spans:
        parts = next(_departures(matcher, span, seed, numbers), None)
        if parts is None:
            return None
        first = first or parts
    return first


def _departures(
    matcher: ValueMatcher, span: Span, seed: int, numbers: Sequence[float]
) -> Iterator[ProbeDifference]:
    values = {ref: matcher.reference.values[ref] for ref, _, _ in span.sources}
    for kind, given in edge_values(values, seed, numbers):
        sources = {c: Source(name=ref, arrange=moved.array) for ref, c, moved in span.sources}
        right = feeds_from(given, sources)
        try:
            part = compared(matcher, span, given, right, seed)
        except (IsomorphError, ValueError):
            continue  # a value that a node rejects proves nothing
        if part is not None:
            yield ProbeDifference(
                kind=kind, span=span, given=given, reference=part[0], candidate=part[1]
            )


def compared(
    matcher: ValueMatcher,
    span: Span,
    left: Mapping[str, Array],
    right: Mapping[str, Array],
    seed: int,
) -> tuple[Array, Array] | None:
    """Return both results, in the candidate's arrangement, if they differ beyond rounding."""
    ref = matcher.reference.fetched(span.reference, left)
    cand = matcher.candidate.fetched(span.candidate, right)
    turned = span.moved.array(ref) if ref.size == cand.size else ref
    if turned.shape != cand.shape:
        return None
    spec = matcher.candidate.graph.tensors.get(span.candidate)
    dtype = (spec.dtype if spec is not None else None) or "float32"
    if bool(np.all(_equal_as_stored(cand, turned, dtype))):
        return None  # within every budget: no draws are needed
    spread = _spread(matcher.reference, span.reference, left, ref, seed)
    other = _spread(matcher.candidate, span.candidate, right, cand, seed)
    part = judge(
        cand, turned, merged(rearranged_spread(span.moved, spread), other),
        dtype=dtype, derivation="", false_alarm=FALSE_ALARM,
    )  # fmt: skip
    return (turned, cand) if part.beyond else None


def _spread(
    capture: TensorCapture, tensor: str, given: Mapping[str, Array], value: Array, seed: int
) -> Spread:
    """Return the spread of a value under rounding."""
    noise = Noise(seed=seed, rounding=True, attributes=True)
    feeds = {**capture.feeds, **given}
    return spreads(capture.oracle, feeds, {tensor: value}, noise, draws=TENSOR_DRAWS)[tensor]


def _equal_as_stored(one: Array, two: Array, dtype: str) -> Array:
    """Mark elements that are equal, or closer than their type can distinguish."""
    with np.errstate(all="ignore"):
        equal = np.asarray(one == two)
        if is_inexact(one) and is_inexact(two):
            equal |= np.isnan(one) & np.isnan(two)
            equal |= np.abs(widen(one) - widen(two)) <= stored_rounding(one, two, dtype)
    return equal


def edge_values(
    values: Mapping[str, Array], seed: int, numbers: Sequence[float] = ()
) -> Iterator[tuple[str, dict[str, Array]]]:
    """Yield kinds of values for these tensors, moderate ones first; integers do not change.

    The last kind reaches beyond ``numbers``, where the others do not.
    """
    kinds = dict(_KINDS)
    width = 2.0 * max(map(abs, numbers), default=0.0)
    if width > _WIDEST:
        kinds[f"between {-width:g} and {width:g}"] = _ramp(width)
    for place, (kind, make) in enumerate(kinds.items()):
        given = {}
        for number, (name, value) in enumerate(values.items()):
            random = np.random.default_rng([seed, place, number])
            if value.dtype.kind == "b":
                given[name] = ~value if kind == _NEGATED else value
            else:
                given[name] = make(value, random) if value.dtype.kind == "f" else value
        if any(not np.array_equal(given[name], values[name]) for name in values):
            yield kind, given


_Maker = Callable[["Array", np.random.Generator], "Array"]
_NEGATED = "negated"


def _ramp(width: float) -> _Maker:
    def make(value: Array, random: np.random.Generator) -> Array:
        steps = np.linspace(-width, width, max(2, value.size))[: value.size]
        return random.permutation(steps).reshape(value.shape).astype(value.dtype)

    return make


def _negated(value: Array, _: np.random.Generator) -> Array:
    return np.asarray(-value)


def _zeros(value: Array, _: np.random.Generator) -> Array:
    return np.zeros_like(value)


def _ties(value: Array, random: np.random.Generator) -> Array:
    return (random.integers(-4, 4, value.shape) + 0.5).astype(value.dtype)


_WIDEST = 1000.0
_KINDS: dict[str, _Maker] = {
    _NEGATED: _negated,
    "between -1 and 1": _ramp(1.0),
    "between -10 and 10": _ramp(10.0),
    "halves, where rounding has a tie": _ties,
    "zeros": _zeros,
    "between -1000 and 1000": _ramp(_WIDEST),
}

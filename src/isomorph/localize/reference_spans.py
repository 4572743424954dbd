"""The spans of the other graph that may replace one node: those with equal inputs and output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING

from isomorph.core.limits import EQUAL_TENSORS, STRETCHES
from isomorph.core.ops import FUSED
from isomorph.localize.probes import Span

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.value_match import ValueMatcher

_LOOKED_UP = 4 * EQUAL_TENSORS.most
"""Equal tensors that are looked up for each; those after the end of a span cannot start it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The equal tensors of every tensor, from either model."""

    matcher: ValueMatcher
    of_candidate: Mapping[str, Sequence[tuple[str, Rearrangement]]]
    of_reference: Mapping[str, Sequence[tuple[str, Rearrangement]]]


def paired(matcher: ValueMatcher) -> Paired:
    """Find the equal tensors of every tensor of the candidate."""
    of_candidate: dict[str, list[tuple[str, Rearrangement]]] = {}
    of_reference: dict[str, list[tuple[str, Rearrangement]]] = {}
    for cand, value in matcher.candidate.values.items():
        for ref, moved in islice(matcher.pairs(cand, value), _LOOKED_UP):
            of_candidate.setdefault(cand, []).append((ref, moved))
            of_reference.setdefault(ref, []).append((cand, moved))
    return Paired(matcher=matcher, of_candidate=of_candidate, of_reference=of_reference)


def reference_spans(node: Node, known: Paired) -> list[Span]:
    """Return the spans of the reference that may replace a node of the candidate."""
    matcher = known.matcher
    found = _spans(node, matcher.candidate, matcher.reference, known.of_candidate)
    return [
        Span(
            sources=tuple((ref, cand, moved) for cand, (ref, moved) in starts),
            reference=end,
            candidate=out,
            moved=moved,
        )
        for starts, out, (end, moved) in found
    ]


def candidate_spans(node: Node, known: Paired) -> list[Span]:
    """Return the spans of the candidate that may replace a node of the reference."""
    matcher = known.matcher
    found = _spans(node, matcher.reference, matcher.candidate, known.of_reference)
    return [
        Span(
            sources=tuple((ref, cand, moved) for ref, (cand, moved) in starts),
            reference=out,
            candidate=end,
            moved=moved,
        )
        for starts, out, (end, moved) in found
    ]


_Pair = tuple[str, "Rearrangement"]


def _spans(
    node: Node, here: TensorCapture, there: TensorCapture, pairs: Mapping[str, Sequence[_Pair]]
) -> list[tuple[list[tuple[str, _Pair]], str, _Pair]]:
    """Return spans of the other model with this node's values, the likeliest first."""
    sources = here.topology.sources(node)
    outs = [name for name in node.outputs if pairs.get(name)]
    if not sources or not outs or not all(pairs.get(name) for name in sources):
        return []
    found = list(STRETCHES.first(_all(sources, outs[0], there, pairs)))
    maker = there.topology.maker

    def rank(span: tuple[list[tuple[str, _Pair]], str, _Pair]) -> tuple[bool, int]:
        end, starts = span[2][0], [pair[0] for _, pair in span[0]]
        other = maker.get(end)
        same = other is not None and other.op == node.op
        between = there.topology.above(end, until=starts)
        return not (same and end not in starts), len(between)

    return sorted(found, key=rank)


def _all(
    sources: Sequence[str], out: str, there: TensorCapture, pairs: Mapping[str, Sequence[_Pair]]
) -> Iterator[tuple[list[tuple[str, _Pair]], str, _Pair]]:
    for end in EQUAL_TENSORS.first(pairs[out]):
        above = there.topology.above(end[0]) | {end[0]}
        choices = [
            list(EQUAL_TENSORS.first(p for p in pairs[name] if p[0] in above)) for name in sources
        ]
        for picked in product(*choices):
            # What is fed behind a built-in activation never passes it.
            if _activated(end[0], there) and any(end[0] == start for start, _ in picked):
                continue
            yield list(zip(sources, picked, strict=True)), out, end


def _activated(tensor: str, capture: TensorCapture) -> bool:
    """Whether the node that makes a tensor has an activation built in."""
    maker = capture.topology.maker.get(tensor)
    return maker is not None and str(maker.attributes.get(FUSED) or "NONE") != "NONE"

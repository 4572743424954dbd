"""Which stretch of the other graph may stand for one node: every pair of equal ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING

from isomorph.core.limits import EQUAL_TENSORS, STRETCHES
from isomorph.localize.probes import Way

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.value_match import ValueMatcher

_LOOKED_UP = 4 * EQUAL_TENSORS.most
"""Twins of a tensor that are known: of those behind the end of a stretch none may start it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Every tensor with its twins, from either side."""

    matcher: ValueMatcher
    of_candidate: Mapping[str, Sequence[tuple[str, Rearrangement]]]
    of_reference: Mapping[str, Sequence[tuple[str, Rearrangement]]]


def paired(matcher: ValueMatcher) -> Paired:
    """Look every tensor of the candidate up once."""
    ours: dict[str, list[tuple[str, Rearrangement]]] = {}
    theirs: dict[str, list[tuple[str, Rearrangement]]] = {}
    for yours, value in matcher.candidate.values.items():
        for mine, moved in islice(matcher.pairs(yours, value), _LOOKED_UP):
            ours.setdefault(yours, []).append((mine, moved))
            theirs.setdefault(mine, []).append((yours, moved))
    return Paired(matcher=matcher, of_candidate=ours, of_reference=theirs)


def ways_of_candidate(node: Node, known: Paired) -> list[Way]:
    """Stretches of the reference that may stand for a node of the candidate."""
    matcher = known.matcher
    found = _stretches(node, matcher.candidate, matcher.reference, known.of_candidate)
    return [
        Way(
            sources=tuple((ref, cand, moved) for cand, (ref, moved) in starts),
            reference=end,
            candidate=out,
            moved=moved,
        )
        for starts, out, (end, moved) in found
    ]


def ways_of_reference(node: Node, known: Paired) -> list[Way]:
    """Stretches of the candidate that may stand for a node of the reference."""
    matcher = known.matcher
    found = _stretches(node, matcher.reference, matcher.candidate, known.of_reference)
    return [
        Way(
            sources=tuple((ref, cand, moved) for ref, (cand, moved) in starts),
            reference=out,
            candidate=end,
            moved=moved,
        )
        for starts, out, (end, moved) in found
    ]


_Pair = tuple[str, "Rearrangement"]


def _stretches(
    node: Node, here: TensorCapture, there: TensorCapture, pairs: Mapping[str, Sequence[_Pair]]
) -> list[tuple[list[tuple[str, _Pair]], str, _Pair]]:
    """Ends and beginnings of the other side with the values of this node's, the likeliest first."""
    sources = here.topology.sources(node)
    outs = [name for name in node.outputs if pairs.get(name)]
    if not sources or not outs or not all(pairs.get(name) for name in sources):
        return []
    found = list(STRETCHES.first(_all(sources, outs[0], there, pairs)))
    maker = there.topology.maker

    def unlikely(stretch: tuple[list[tuple[str, _Pair]], str, _Pair]) -> tuple[bool, int]:
        end, starts = stretch[2][0], [pair[0] for _, pair in stretch[0]]
        other = maker.get(end)
        same = other is not None and other.op == node.op
        between = there.topology.above(end, until=starts)
        return not (same and end not in starts), len(between)

    return sorted(found, key=unlikely)


def _all(
    sources: Sequence[str], out: str, there: TensorCapture, pairs: Mapping[str, Sequence[_Pair]]
) -> Iterator[tuple[list[tuple[str, _Pair]], str, _Pair]]:
    for end in EQUAL_TENSORS.first(pairs[out]):
        above = there.topology.above(end[0]) | {end[0]}
        choices = [
            list(EQUAL_TENSORS.first(p for p in pairs[name] if p[0] in above)) for name in sources
        ]
        for picked in product(*choices):
            yield list(zip(sources, picked, strict=True)), out, end

"""Weights of the reference that the candidate merged with another one that is nearly the same.

A conversion stores equal constants once. One that takes weights for equal that differ in a few
elements leaves no weight without an equal in the candidate: it lacks one of the reference's, and
another is read by more nodes than before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph.match.arranged_weights import same_use
from isomorph.match.element_bounds import Elements, Source, compare_elements

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import StoredWeight, WeightReader, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedWeight:
    """A weight of the candidate, and one of the reference that it is read instead of.

    ``weight`` has the readers that read another weight in the reference, where they are known.
    """

    weight: StoredWeight
    source: StoredWeight
    expected: Array = field(repr=False)
    actual: Array = field(repr=False)
    elements: Elements


def merged_weights(
    reference: Weights, candidate: Weights, taken: Mapping[str, int]
) -> list[MergedWeight]:
    """Return the merged weights; ``taken`` counts the readers that each of the reference's has."""
    stored = {each.value_digest for each in candidate.stored.values()}
    lost = [
        each
        for each in reference.stored.values()
        if each.grid is None and each.value_digest not in stored and not taken.get(each.name, 0)
    ]
    found = []
    for weight in candidate.stored.values() if lost else ():
        origins = [e for e in reference.stored.values() if e.digest == weight.digest]
        readers = sum(len(each.readers) for each in origins)
        if weight.grid is not None or not origins or len(weight.readers) <= readers:
            continue
        actual = candidate.real(weight)
        for source in lost:
            if actual is None or source.shape != weight.shape or not same_use(weight, source):
                continue
            expected = reference.real(source)
            if expected is None:
                continue
            elements = compare_elements(expected, actual, weight, Source(dtype=source.dtype))
            if elements.sparse and elements.informative > elements.count:
                read = _readers(weight, source, origins, (reference, candidate))
                found.append(
                    MergedWeight(
                        weight=replace(weight, readers=read),
                        source=source,
                        expected=expected,
                        actual=actual,
                        elements=elements,
                    )
                )
    return found


def _readers(
    weight: StoredWeight,
    source: StoredWeight,
    origins: list[StoredWeight],
    sides: tuple[Weights, Weights],
) -> tuple[WeightReader, ...]:
    """Return the readers of a merged weight in the order of the graph, those of ``source`` only."""
    places = [{node.name: at for at, node in enumerate(side.graph.nodes)} for side in sides]
    before = [(each, source) for each in source.readers]
    before += [(each, origin) for origin in origins for each in origin.readers]
    before.sort(key=lambda pair: places[0][pair[0].node.name])
    after = sorted(weight.readers, key=lambda each: places[1][each.node.name])
    if len(before) != len(after):
        return tuple(after)
    pairs = zip(after, before, strict=True)
    return tuple(reader for reader, (_, origin) in pairs if origin is source)

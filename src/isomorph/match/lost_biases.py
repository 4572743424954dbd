"""Biases of nothing but zeros where the reference's bias of the same kernel holds numbers.

No number of such a bias tells where it comes from, but its kernel does. A converter may also have
moved a bias elsewhere; then another weight has no origin either, and nothing is certain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.match.constant_difference import ConstantDifference, Suspect, difference_from
from isomorph.match.element_bounds import Source, compare_elements
from isomorph.match.folded_weights import effective_rank

if TYPE_CHECKING:
    from isomorph.match.stored_weights import StoredWeight, Weights


def lost_biases(
    reference: Weights,
    candidate: Weights,
    explained: Mapping[str, tuple[str, ...]],
    known: Collection[str],
) -> Iterator[ConstantDifference]:
    """Yield the zeroed biases among the weights that are neither ``explained`` nor ``known``."""
    unexplained = [name for name in candidate.stored if name not in explained]
    used = {name for names in explained.values() for name in names}
    for name in unexplained:
        if name in known:
            continue
        weight = candidate.stored[name]
        actual = candidate.real(weight) if effective_rank(weight.shape) == 1 else None
        if actual is None or actual.any():
            continue
        sources = [
            each
            for each in _biases_of_kernels(weight, reference, candidate, explained)
            if each.name not in used and each.size == weight.size
        ]
        expected = reference.real(sources[0]) if len(sources) == 1 else None
        if expected is None:
            continue
        expected = expected.reshape(weight.shape)
        elements = compare_elements(expected, actual, weight, Source(dtype=sources[0].dtype))
        if elements.equal:
            continue
        suspect = Suspect(
            names=(sources[0].name,), expected=expected, elements=elements, evidence=("structure",)
        )
        yield replace(difference_from(weight, actual, suspect), certain=unexplained == [name])


def _biases_of_kernels(
    weight: StoredWeight,
    reference: Weights,
    candidate: Weights,
    explained: Mapping[str, tuple[str, ...]],
) -> list[StoredWeight]:
    """Return the reference's vectors that are added where it reads the kernels of this bias."""
    here = {each.node.name for each in weight.readers}
    kernels = {
        explained[name][0]
        for name, each in candidate.stored.items()
        if len(explained.get(name, ())) == 1
        and effective_rank(each.shape) > 1
        and _read_by(each, here)
    }
    nodes = [
        each.node
        for name in kernels
        if name in reference.stored
        for each in reference.stored[name].readers
    ]
    readers = reference.topology.readers
    behind = [reader for node in nodes for out in node.outputs for reader in readers.get(out, ())]
    there = {node.name for node in nodes} | {each.name for each in behind if each.op == "Add"}
    return [
        each
        for each in reference.stored.values()
        if effective_rank(each.shape) == 1 and _read_by(each, there)
    ]


def _read_by(weight: StoredWeight, nodes: Collection[str]) -> bool:
    return any(each.node.name in nodes for each in weight.readers)

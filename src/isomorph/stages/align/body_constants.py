"""Constants inside the bodies of If, Loop and Scan that have no equal on the other side.

No session shows the values inside a body: small constants are in the description of the graph, of
large ones only digests are known. Each use is held against the uses of the other side, in bodies
or outside, for a branch may have been rewritten to a selection. What is left over on both sides is
suspect, and counts only where an input shows that the outputs differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import UNPAIRED_USES
from isomorph.stages.align.element_bounds import Elements, Source, compare_elements
from isomorph.stages.align.few_elements import ChangedConstant, kind_of
from isomorph.stages.align.stored_weights import HANDS_ON, StoredWeight, WeightReader
from isomorph.stages.align.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node
    from isomorph.core.trace import Array
    from isomorph.stages.align.stored_weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Use:
    """One node that reads a constant, in a body or outside."""

    weight: StoredWeight
    values: Array | None = field(repr=False)
    kind: tuple[str, ...]
    inside: bool

    def equals(self, other: _Use) -> bool:
        """Whether both read the same numbers, in any arrangement or after one rounding."""
        if self.weight.value_digest == other.weight.value_digest:
            return True
        seen = self.compared(other)
        # Digests of numbers that were rounded to another type tell nothing.
        return self.weight.dtype != other.weight.dtype if seen is None else seen.equal

    def compared(self, other: _Use) -> Elements | None:
        """Element by element, where both are known."""
        if self.values is None or other.values is None:
            return None
        source = Source(dtype=other.weight.dtype)
        return compare_elements(other.values, self.values, self.weight, source)


def changed_in_bodies(reference: Weights, candidate: Weights) -> list[ChangedConstant]:
    """Constants without an equal beside their likely counterparts, one of the two in a body."""
    sides = [list(_uses(each)) for each in (candidate, reference)]
    if not any(use.inside for side in sides for use in side):
        return []
    left, free = _cancelled(*sides)
    alone = len(left) == len(free) == 1 and _steps(reference.graph) == _steps(candidate.graph)
    found: dict[str, ChangedConstant] = {}
    for use, other in _paired(left, free):
        if use.weight.name not in found and (use.inside or other.inside):
            found[use.weight.name] = _changed(use, other, alone=alone)
    return list(found.values())


def _steps(graph: Graph) -> list[object]:
    """The operators of a graph and of its bodies in their order, with their attributes."""
    return [
        (node.native_op, repr(sorted(node.attributes.items())),
         [(key, _steps(body)) for key, body in sorted(node.bodies.items())])
        for node in graph.nodes
    ]  # fmt: skip


def _changed(use: _Use, other: _Use, *, alone: bool) -> ChangedConstant:
    shape = use.weight.shape
    seen = use.compared(other)
    if seen is None or other.values is None or use.values is None:
        seen = Elements(beyond=np.zeros(shape, bool), between=0, telling=0)
        expected = held = np.zeros(shape)
    else:
        seen = replace(seen, beyond=seen.beyond.reshape(shape))
        expected, held = other.values.reshape(shape), use.values.reshape(shape)
    return ChangedConstant(
        weight=use.weight,
        source=other.weight,
        expected=expected,
        elements=seen,
        held=held,
        inside=use.inside,
        certain=alone and use.inside and other.inside and seen.count > 0,
    )


def _uses(side: Weights) -> Iterator[_Use]:
    for weight in (*side.stored.values(), *side.scalars.values()):
        values = _values(side.graph.constants[weight.name])
        if weight.grid is None:
            for reader in weight.readers:
                yield _Use(weight=weight, values=values, kind=kind_of(reader), inside=False)
    for node in side.graph.nodes:
        if node.name in side.useful:
            yield from _inside(node, node.name)


def _inside(node: Node, path: str) -> Iterator[_Use]:
    for key, body in node.bodies.items():
        place = f"{path}/{key}"
        for name, constant in body.constants.items():
            if "float" not in constant.dtype or not math.prod(constant.shape) > 0:
                continue
            readers = tuple(_readers(body, name))
            weight = StoredWeight(
                name=f"{place}/{name}",
                dtype=constant.dtype,
                shape=constant.shape,
                digest=constant.digest,
                value_digest=constant.value_digest,
                readers=readers,
            )
            for reader in readers:
                kind, values = kind_of(reader), _values(constant)
                yield _Use(weight=weight, values=values, kind=kind, inside=True)
        for inner in body.nodes:
            yield from _inside(inner, f"{place}/{inner.name}")


def _readers(body: Graph, name: str) -> Iterator[WeightReader]:
    """The nodes of a body that read a constant, behind those that only hand its numbers on."""
    topology = Topology(body)
    open_ends, seen = [name], {name}
    while open_ends:
        tensor = open_ends.pop()
        for node in topology.readers.get(tensor, ()):
            if node.op in HANDS_ON and node.inputs[0] == tensor:
                new = [each for each in node.outputs if each and each not in seen]
                seen.update(new)
                open_ends += new
            elif tensor in node.inputs:
                yield WeightReader(node=node, slot=node.inputs.index(tensor))


def _values(constant: Constant) -> Array | None:
    if constant.values is None or len(constant.values) != math.prod(constant.shape):
        return None
    return np.asarray(constant.values, np.float64)


def _cancelled(uses: Sequence[_Use], others: Sequence[_Use]) -> tuple[list[_Use], list[_Use]]:
    """What is left on each side when uses of one kind with equal numbers are taken away."""
    free: dict[tuple[object, ...], list[_Use]] = {}
    for each in others:
        free.setdefault((each.kind, each.weight.size), []).append(each)
    left = []
    for use in uses:
        there = free.get((use.kind, use.weight.size), [])
        partner = next((each for each in there if use.equals(each)), None)
        if partner is None:
            left.append(use)
        else:
            there.remove(partner)
    return left, [each for group in free.values() for each in group]


def _paired(left: Sequence[_Use], free: Sequence[_Use]) -> Iterator[tuple[_Use, _Use]]:
    """Uses of one kind and size in their order, where each side has as many."""
    for key in dict.fromkeys((each.kind, each.weight.size) for each in left):
        here, there = (
            [each for each in side if (each.kind, each.weight.size) == key] for side in (left, free)
        )
        if len(here) != len(there):
            continue
        if len(here) > UNPAIRED_USES.most:
            UNPAIRED_USES.reached()  # more are a rewrite, not changed constants
            continue
        yield from zip(here, there, strict=True)

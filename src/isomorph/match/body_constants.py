"""Constants inside the bodies of If, Loop and Scan that have no equal in the other graph.

No session returns values from inside a body: the description of the graph has them, and only a
digest of very large ones. Each use is compared with the uses of the other graph, in bodies or
outside, since a branch may have been rewritten to a selection. Uses without an equal on both sides
are suspect. A difference is certain where most elements agree, or where it is the only one and both
bodies have the same operators; otherwise it counts only if the outputs differ on some input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.digest import SMALL_IN_BODY
from isomorph.core.limits import UNPAIRED_USES
from isomorph.core.ops import KEEPS_NUMBERS
from isomorph.core.stated_numbers import FEW_ELEMENTS
from isomorph.match.element_bounds import Elements, Source, compare_elements
from isomorph.match.small_constants import ChangedConstant, kind_of
from isomorph.match.stored_weights import StoredWeight, WeightReader
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConstantUse:
    """One node that reads a constant, in a body or outside."""

    weight: StoredWeight
    read: Callable[[], Array | None] = field(repr=False)
    kind: tuple[str, ...]
    body: Graph | None = field(default=None, repr=False)

    @property
    def inside(self) -> bool:
        """Whether it is in a body."""
        return self.body is not None

    @property
    def values(self) -> Array | None:
        """The elements in their order; None where they are unknown."""
        return self.read()

    def equals(self, other: ConstantUse) -> bool:
        """Whether both read the same elements, in any arrangement or after one rounding."""
        if self.weight.value_digest == other.weight.value_digest:
            return True
        compared_elements = self.compared(other)
        # Digests of elements that were rounded to another type prove nothing.
        return (
            self.weight.dtype != other.weight.dtype
            if compared_elements is None
            else compared_elements.equal
        )

    def compared(self, other: ConstantUse) -> Elements | None:
        """Compare element by element; None where either side is unknown."""
        actual, expected = self.values, other.values
        if actual is None or expected is None:
            return None
        return compare_elements(expected, actual, self.weight, Source(dtype=other.weight.dtype))


def changed_in_bodies(reference: Weights, candidate: Weights) -> list[ChangedConstant]:
    """Return constants without an equal, with likely counterparts; one of the two is in a body."""
    sides = [list(_uses(each)) for each in (candidate, reference)]
    if not any(use.inside for side in sides for use in side):
        return []
    left, free = _canceled(*sides)
    alone = len(left) == len(free) == 1
    found: dict[str, ChangedConstant] = {}
    for use, other in _paired(left, free):
        if use.weight.name not in found and (use.inside or other.inside):
            found[use.weight.name] = _changed(use, other, alone=alone)
    return list(found.values())


def only_one_changed(reference: Weights, candidate: Weights) -> bool:
    """Whether one use of one constant is left over on each side, and all others are equal."""
    sizes = [[use.weight.size for use in side] for side in left_over(reference, candidate)]
    return [len(each) for each in sizes] == [1, 1] and max(
        max(each) for each in sizes
    ) <= FEW_ELEMENTS


def left_over(
    reference: Weights, candidate: Weights
) -> tuple[list[ConstantUse], list[ConstantUse]]:
    """Return the uses of constants without an equal, of the candidate and of the reference.

    Both are empty where a graph holds quantized weights, whose equals are found in other ways, and
    where one graph has more uses: equal ones go in pairs, so more than one would be left of it.
    """
    sides = [list(_uses(each)) for each in (candidate, reference)]
    if len(sides[0]) != len(sides[1]):
        return [], []
    if any(w.grid is not None for side in (reference, candidate) for w in side.stored.values()):
        return [], []
    left, free = _canceled(*sides)
    # Many elements identify a constant, whatever operator reads it.
    large = [[use for use in side if use.weight.size > FEW_ELEMENTS] for side in (left, free)]
    still = _canceled(*large, of_one_kind=False)
    few = [[use for use in side if use.weight.size <= FEW_ELEMENTS] for side in (left, free)]
    return [*few[0], *still[0]], [*few[1], *still[1]]


def _steps(graph: Graph | None) -> list[str]:
    """List the operators of a body and of the bodies in it, with their attributes."""
    if graph is None:
        return []
    return sorted(
        repr((node.native_op, sorted(node.attributes.items()),
              [(key, _steps(body)) for key, body in sorted(node.bodies.items())]))
        for node in graph.nodes
    )  # fmt: skip


def _changed(use: ConstantUse, other: ConstantUse, *, alone: bool) -> ChangedConstant:
    shape = use.weight.shape
    compared_elements, expected, actual = use.compared(other), other.values, use.values
    if compared_elements is None or expected is None or actual is None:
        none = np.zeros(shape, bool)
        compared_elements = Elements(beyond=none, between=none, informative=0)
        expected = actual = np.zeros(shape)
    known = _known(use, other) is not None
    inside = use.inside and other.inside and _steps(use.body) == _steps(other.body)
    return ChangedConstant(
        weight=use.weight,
        source=other.weight,
        expected=expected.reshape(shape),
        elements=replace(
            compared_elements,
            beyond=compared_elements.beyond.reshape(shape),
            between=compared_elements.between.reshape(shape),
        ),
        actual=actual.reshape(shape),
        inside=use.inside,
        certain=compared_elements.count > 0 and (known or (alone and inside)),
    )


def _uses(side: Weights) -> Iterator[ConstantUse]:
    for weight in (*side.stored.values(), *side.scalars.values()):
        if weight.grid is None:
            read = partial(_stored_values, side, weight)
            for reader in weight.readers:
                yield ConstantUse(weight=weight, read=read, kind=kind_of(reader))
    for node in side.graph.nodes:
        if node.name in side.useful:
            yield from _inside(node, node.name, side.graph.functions)


def _inside(node: Node, path: str, functions: Mapping[str, Graph]) -> Iterator[ConstantUse]:
    bodies = dict(node.bodies)
    if node.native_op in functions:
        bodies["function"] = functions[node.native_op]
    for key, body in bodies.items():
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
                read = partial(_values, constant)
                yield ConstantUse(weight=weight, read=read, kind=kind_of(reader), body=body)
        for inner in body.nodes:
            yield from _inside(inner, f"{place}/{inner.name}", functions)


def _readers(body: Graph, name: str) -> Iterator[WeightReader]:
    """Yield the nodes of a body that compute with a constant, past those that only pass it on."""
    topology = Topology(body)
    open_ends, compared_elements = [name], {name}
    while open_ends:
        tensor = open_ends.pop()
        for node in topology.readers.get(tensor, ()):
            if node.op in KEEPS_NUMBERS and node.inputs[0] == tensor:
                new = [each for each in node.outputs if each and each not in compared_elements]
                compared_elements.update(new)
                open_ends += new
            elif tensor in node.inputs:
                yield WeightReader(node=node, slot=node.inputs.index(tensor))


def _stored_values(side: Weights, weight: StoredWeight) -> Array | None:
    """Read a constant outside bodies, if it is small enough to be described inside one."""
    value = side.real(weight) if weight.size <= SMALL_IN_BODY else None
    return None if value is None else value.ravel()


def _values(constant: Constant) -> Array | None:
    if constant.values is None or len(constant.values) != math.prod(constant.shape):
        return None
    return np.asarray(constant.values, np.float64)


def _canceled(
    uses: Sequence[ConstantUse], others: Sequence[ConstantUse], *, of_one_kind: bool = True
) -> tuple[list[ConstantUse], list[ConstantUse]]:
    """Return what is left on each side without uses, of one kind, that have equal elements."""

    def key(use: ConstantUse) -> tuple[object, ...]:
        return (use.kind if of_one_kind else (), use.weight.size)

    free: dict[tuple[object, ...], list[ConstantUse]] = {}
    for each in others:
        free.setdefault(key(each), []).append(each)
    left = []
    for use in uses:
        there = free.get(key(use), [])
        partner = next((each for each in there if use.equals(each)), None)
        if partner is None:
            left.append(use)
        else:
            there.remove(partner)
    return left, [each for group in free.values() for each in group]


def _paired(
    left: Sequence[ConstantUse], free: Sequence[ConstantUse]
) -> Iterator[tuple[ConstantUse, ConstantUse]]:
    """Pair uses of one kind and size by their elements, then in order if the counts agree."""
    for key in dict.fromkeys((each.kind, each.weight.size) for each in left):
        here, there = (
            [each for each in side if (each.kind, each.weight.size) == key] for side in (left, free)
        )
        if max(len(here), len(there)) > UNPAIRED_USES.most:
            if there:
                UNPAIRED_USES.reached()  # more are a rewrite, not changed constants
            continue
        for use in tuple(here):
            known = [
                (compared_elements.count, each)
                for each in there
                if (compared_elements := _known(use, each))
            ]
            if known:
                _, other = min(known, key=lambda each: each[0])
                here.remove(use)
                there.remove(other)
                yield use, other
        if len(here) == len(there):
            yield from zip(here, there, strict=True)


def _known(use: ConstantUse, other: ConstantUse) -> Elements | None:
    """Return the comparison if so many elements agree that one was made from the other."""
    compared_elements = use.compared(other)
    return (
        compared_elements
        if compared_elements is not None
        and compared_elements.sparse
        and compared_elements.informative > compared_elements.count
        else None
    )

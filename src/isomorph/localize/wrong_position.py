"""Tensors that hold right values and yet are wrong where they stand, before a wrong node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import PASSED_ON
from isomorph.core.ops import RESHAPES
from isomorph.localize.lost_fusion import gone_on_with
from isomorph.localize.substitution import Substitution, as_it_is
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault_search import Search

_RESHAPING = RESHAPES | {
    *("QuantizeLinear", "DequantizeLinear", "Cast", "Transpose", "Expand", "Tile")
}
"""Operators that hand on every value: what they give is no second making of it."""
_SPREADING = frozenset({"Expand", "Tile"})
PASSING = _RESHAPING | {"Slice", "Split", "Concat", "Gather"}
"""Operators that pass on the values that they get."""


def misplaced(
    search: Search, entries: Sequence[Node], wrong: Sequence[str]
) -> Iterator[Iterator[Substitution]]:
    """Kind by kind, what may be put in the place of a right tensor."""
    sources = [s for node in entries for s in search.candidate.topology.sources(node)]
    made = [
        name
        for name in dict.fromkeys([*sources, *wrong])
        if name in search.candidate.topology.maker and name not in search.given
    ]
    yield _rearranged(search, _turned(search, made))
    yield _bare(search, made)
    read = [name for name in made if name in sources]
    yield _reshaped(search, read)
    before = _passed_on(search, read)
    yield _not_moved(search, before)
    yield _doubled(search, before)


def _passed_on(search: Search, names: Sequence[str]) -> list[str]:
    """What these were before they were passed on, farthest first: one slip may lead to several."""
    topology = search.candidate.topology
    found = dict.fromkeys(names)
    layer = list(names)
    for _ in range(PASSED_ON.most):
        makers = [(name, topology.maker[name]) for name in layer]
        passing = [n for name, n in makers if n.op in PASSING or hands_on(search, name, n)]
        layer = [
            name
            for node in passing
            for name in topology.sources(node)
            if name in topology.maker and name not in search.given and name not in found
        ]
        found.update(dict.fromkeys(layer))
    if layer:
        PASSED_ON.reached()
    return list(reversed(found))


def _turned(search: Search, names: Sequence[str]) -> list[str]:
    """These and what they were made of, farthest first, where the axes are in another order there.

    One wrong order is passed on by all that works number by number, and ends where a transposition
    made it. Where that goes on and on, the whole candidate has its axes otherwise: no fault.
    """
    makers, found, layer = search.candidate.topology.maker, dict.fromkeys(names), list(names)
    for _ in range(PASSED_ON.most):
        layer = [
            source
            for name in layer
            if _astray(search, name, makers[name]) and makers[name].op != "Transpose"
            for source in search.candidate.topology.sources(makers[name])
            if source in makers and source not in search.given and source not in found
            if _astray(search, source, makers[name]) or makers[source].op == "Transpose"
        ]
        if not layer:
            return list(reversed(found))
        found.update(dict.fromkeys(layer))
    return list(names)


def _astray(search: Search, tensor: str, reader: Node) -> bool:
    """Whether a right tensor has its axes in another order, or where they are spread otherwise."""
    pair = search.pairs.get(tensor)
    if pair is None:
        return False
    shape = search.reference.values[pair[0]].shape
    return pair[1].moves or (reader.op in _SPREADING and shape != search.values[tensor].shape)


def _not_moved(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """What the reference makes by moving axes where a node of the same kind left them."""
    makers, readers = search.candidate.topology.maker, search.reference.topology.readers
    for tensor in names:
        source = makers[tensor].inputs[0] if makers[tensor].op == "Transpose" else ""
        held = search.values.get(source)
        for twin, _ in search.matcher.pairs(source, held) if held is not None else ():
            for node in readers.get(twin, ()):
                if node.op == "Transpose" and node.outputs[0] in search.reference.values:
                    moved = as_it_is(search.reference, tensor, node.outputs[0])
                    yield replace(moved, permuted=True)


def _spread_otherwise(search: Search, tensor: str) -> Iterator[Substitution]:
    """The same values in the shape in which the reference spreads them out."""
    value, readers = search.values[tensor], search.reference.topology.readers
    for twin, _ in search.matcher.pairs(tensor, value):
        spread = any(node.op in _SPREADING for node in readers.get(twin, ()))
        if spread and search.reference.values[twin].shape != value.shape:
            yield as_it_is(search.reference, tensor, twin)


def _rearranged(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Right values whose axes stand in another order than their twin's."""
    for tensor in names:
        pair = search.pairs.get(tensor)
        if pair is None:
            continue
        mine, shape = pair[0], search.values[tensor].shape
        if not pair[1].moves:
            yield from _not_moved(search, [tensor])
            if any(n.op in _SPREADING for n in search.candidate.topology.readers.get(tensor, ())):
                yield from _spread_otherwise(search, tensor)
            continue
        for moved in rearrangements(search.reference.values[mine], shape):
            if moved != pair[1]:
                yield Substitution(tensor=tensor, counterpart=mine, moved=moved, permuted=True)
        if search.reference.values[mine].shape != shape:
            # Whoever reshapes it next does not mind how it was cut.
            yield replace(as_it_is(search.reference, tensor, mine), permuted=True)


def _bare(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Right values with which the reference goes on, and their maker could have."""
    for tensor in names:
        pair = search.pairs.get(tensor)
        if pair is None:
            continue
        maker = search.candidate.topology.maker[tensor]
        idle = hands_on(search, tensor, maker)
        for mine in gone_on_with(maker, pair[0], search.reference.topology, idle=idle):
            other = search.reference.values.get(mine)
            for moved in (
                rearrangements(other, search.values[tensor].shape) if other is not None else ()
            ):
                yield Substitution(tensor=tensor, counterpart=mine, moved=moved, permuted=False)


def hands_on(search: Search, tensor: str, maker: Node) -> bool:
    """Whether a node gives what it gets, value by value."""
    sources = search.candidate.topology.sources(maker)
    held = [search.values[name] for name in sources if name in search.values]
    return maker.op not in _RESHAPING and any(
        np.array_equal(each, search.values[tensor]) for each in held
    )


def _reshaped(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Right values in a shape that broadcasts otherwise."""
    for tensor in names:
        pair = search.pairs.get(tensor)
        if pair is None:
            continue
        shape = search.reference.values[pair[0]].shape
        order = [axis for axis in pair[1].permutation if shape[axis] != 1]
        if shape != search.values[tensor].shape and order == sorted(order):
            yield as_it_is(search.reference, tensor, pair[0])


def _doubled(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Values that another tensor holds already: an operator that was done twice on one thing.

    The second time it should have made something that the candidate has nowhere, of something
    else or by another operator.
    """
    makers = search.candidate.topology.maker
    held = Counter(
        pair[0]
        for name, pair in search.pairs.items()
        if pair is not None and name in makers and makers[name].op not in _RESHAPING
    )
    for tensor in names:
        pair, maker = search.pairs.get(tensor), makers[tensor]
        if pair is None or held[pair[0]] < 2 or maker.op in _RESHAPING:
            continue
        sources = [search.pairs.get(name) for name in search.candidate.topology.sources(maker)]
        read = {each[0] for each in sources if each is not None}
        for mine in search.near_the_front():
            other = search.reference.topology.maker.get(mine)
            shape = search.values[tensor].shape
            if other is not None and (
                other.op == maker.op or read == set(search.reference.topology.sources(other))
            ):
                fits = _spelled_out(search.reference.values[mine].shape) == _spelled_out(shape)
                for moved in rearrangements(search.reference.values[mine], shape) if fits else ():
                    yield Substitution(tensor=tensor, counterpart=mine, moved=moved, permuted=False)


def _spelled_out(shape: tuple[int, ...]) -> list[int]:
    """The sizes of a shape but for axes of one, which cutting and reshaping leave or take."""
    return [size for size in shape if size != 1]

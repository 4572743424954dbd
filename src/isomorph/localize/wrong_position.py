"""Tensors that equal one of the reference but are wrong at their position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import PASSED_ON
from isomorph.core.ops import RESHAPES
from isomorph.localize.lost_fusion import fusable_successors
from isomorph.localize.substitution import Substitution, unreshaped
from isomorph.localize.wrong_shape import spelled_out
from isomorph.match.value_match import rearrangements

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.localize.fault_search import Search
    from isomorph.match.topology import Topology

_RESHAPING = RESHAPES | {
    *("QuantizeLinear", "DequantizeLinear", "Cast", "Transpose", "Expand", "Tile")
}
"""Operators that pass on every value: their result is not computed a second time."""
_SPREADING = frozenset({"Expand", "Tile"})
PASSES_ON = _RESHAPING | {"Slice", "Split", "Concat", "Gather"}
"""Operators that pass on values of their inputs."""


def misplaced(
    search: Search, entries: Sequence[Node], wrong: Sequence[str]
) -> Iterator[Iterator[Substitution]]:
    """Yield the substitutions for right tensors, kind by kind."""
    sources = [s for node in entries for s in search.candidate.topology.sources(node)]
    made = [
        name
        for name in dict.fromkeys([*sources, *wrong])
        if name in search.candidate.topology.maker and name not in search.given
    ]
    yield _rearranged(search, _turned(search, made))
    yield _unfused(search, made)
    read = [name for name in made if name in sources]
    yield _reshaped(search, read)
    before = _passed_on(search, read)
    yield _not_moved(search, before)
    yield _passed_otherwise(search, before)
    yield _doubled(search, before)


def _passed_on(search: Search, names: Sequence[str]) -> list[str]:
    """Return the tensors that were passed on to these, farthest first: one may reach several."""
    topology = search.candidate.topology
    found = dict.fromkeys(names)
    layer = list(names)
    for _ in range(PASSED_ON.most):
        makers = [(name, topology.maker[name]) for name in layer]
        passing = [n for name, n in makers if n.op in PASSES_ON or passes_on(search, name, n)]
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
    """Return these tensors and their sources with permuted axes, farthest first.

    Elementwise operators pass a wrong order on, back to the transposition that caused it. Where it
    goes back farther than the limit, the whole candidate uses another layout, which is no fault.
    """
    makers, found, layer = search.candidate.topology.maker, dict.fromkeys(names), list(names)
    for _ in range(PASSED_ON.most):
        layer = [
            source
            for name in layer
            if _moved(search, name, makers[name]) and makers[name].op != "Transpose"
            for source in search.candidate.topology.sources(makers[name])
            if source in makers and source not in search.given and source not in found
            if _moved(search, source, makers[name]) or makers[source].op == "Transpose"
        ]
        if not layer:
            return list(reversed(found))
        found.update(dict.fromkeys(layer))
    return list(names)


def _moved(search: Search, tensor: str, reader: Node) -> bool:
    """Whether a right tensor has permuted axes, or another shape before it is expanded."""
    pair = search.pairs.get(tensor)
    if pair is None:
        return False
    shape = search.reference.values[pair[0]].shape
    return pair[1].moves or (reader.op in _SPREADING and shape != search.values[tensor].shape)


def _not_moved(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Yield results of the reference's transpositions for one that does not move the axes."""
    makers, readers = search.candidate.topology.maker, search.reference.topology.readers
    for tensor in names:
        source = makers[tensor].inputs[0] if makers[tensor].op == "Transpose" else ""
        value = search.values.get(source)
        for ref, _ in search.matcher.pairs(source, value) if value is not None else ():
            for node in readers.get(ref, ()):
                if node.op == "Transpose" and node.outputs[0] in search.reference.values:
                    moved = unreshaped(search.reference, tensor, node.outputs[0])
                    yield replace(moved, permuted=True)


def _spread_otherwise(search: Search, tensor: str) -> Iterator[Substitution]:
    """Yield the same values in the shape that the reference expands."""
    value, readers = search.values[tensor], search.reference.topology.readers
    for ref, _ in search.matcher.pairs(tensor, value):
        spread = any(node.op in _SPREADING for node in readers.get(ref, ()))
        if spread and search.reference.values[ref].shape != value.shape:
            yield unreshaped(search.reference, tensor, ref)


def _rearranged(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Yield substitutions for right values whose axes are permuted."""
    for tensor in names:
        pair = search.pairs.get(tensor)
        if pair is None:
            continue
        ref, shape = pair[0], search.values[tensor].shape
        if not pair[1].moves:
            yield from _not_moved(search, [tensor])
            if any(n.op in _SPREADING for n in search.candidate.topology.readers.get(tensor, ())):
                yield from _spread_otherwise(search, tensor)
            continue
        for moved in rearrangements(search.reference.values[ref], shape):
            if moved != pair[1]:
                yield Substitution(tensor=tensor, counterpart=ref, moved=moved, permuted=True)
        if search.reference.values[ref].shape != shape:
            # If the next node reshapes it, the shape does not matter.
            yield replace(unreshaped(search.reference, tensor, ref), permuted=True)


def _unfused(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Yield the reference's next tensor for right values whose maker could have computed it."""
    for tensor in names:
        pair = search.pairs.get(tensor)
        if pair is None:
            continue
        maker = search.candidate.topology.maker[tensor]
        idle = passes_on(search, tensor, maker)
        for ref in fusable_successors(maker, pair[0], search.reference.topology, idle=idle):
            other = search.reference.values.get(ref)
            for moved in (
                rearrangements(other, search.values[tensor].shape) if other is not None else ()
            ):
                yield Substitution(tensor=tensor, counterpart=ref, moved=moved, permuted=False)


def passes_on(search: Search, tensor: str, maker: Node) -> bool:
    """Whether a node returns one of its inputs unchanged."""
    sources = search.candidate.topology.sources(maker)
    inputs = [search.values[name] for name in sources if name in search.values]
    return maker.op not in _RESHAPING and any(
        np.array_equal(each, search.values[tensor]) for each in inputs
    )


def _reshaped(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Yield substitutions for right values in a shape that broadcasts differently."""
    for tensor in names:
        pair = search.pairs.get(tensor)
        if pair is None:
            continue
        shape = search.reference.values[pair[0]].shape
        order = [axis for axis in pair[1].permutation if shape[axis] != 1]
        if shape != search.values[tensor].shape and order == sorted(order):
            yield unreshaped(search.reference, tensor, pair[0])


def _passed_otherwise(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Yield what the same operator passes on in the reference: something computed from this.

    A tensor is right, but what should have been done to it before it was expanded was not. Where
    the candidate does it, with another constant or elsewhere, that node is the one to try.
    """
    makers, reference = search.candidate.topology.maker, search.reference
    for tensor in names:
        pair, maker = search.pairs.get(tensor), makers[tensor]
        if pair is None or maker.op not in _RESHAPING:
            continue
        value, layer = search.values[tensor], [pair[0]]
        for _ in range(PASSED_ON.most):
            readers = (n for name in layer for n in reference.topology.readers.get(name, ()))
            next_ones = {n.name: n for n in readers}.values()
            layer = [name for n in next_ones for name in n.outputs if name in reference.values]
            for ref in layer:
                other = reference.values[ref]
                same_form = other.shape == value.shape and other.dtype.kind == value.dtype.kind
                same_op = reference.topology.maker[ref].op == maker.op
                moved = reference.prints[ref] != reference.prints[pair[0]]
                if same_form and same_op and moved and not _done(search, tensor, ref):
                    yield unreshaped(reference, tensor, ref)


def _done(search: Search, tensor: str, ref: str) -> bool:
    """Whether the candidate computes just before or behind a tensor as the reference before it.

    What the reference computes to get the values of the tensor itself is not that.
    """
    topology, reference = search.candidate.topology, search.reference.topology
    before = _computed_by(reference, ref)
    behind = {node.op for node in topology.readers.get(tensor, ())}
    equal = search.matcher.pairs(tensor, search.values[tensor])
    so_far = {op for name, _ in equal for op in _computed_by(reference, name)}
    return bool(before & (behind | (_computed_by(topology, tensor) - so_far)))


def _computed_by(topology: Topology, tensor: str) -> set[str]:
    """Return the operators that compute what is passed on to a tensor."""
    node = topology.maker.get(tensor)
    if node is None:
        return set()
    if node.op not in _RESHAPING:
        return {node.op}
    return {op for name in topology.sources(node) for op in _computed_by(topology, name)}


def _doubled(search: Search, names: Sequence[str]) -> Iterator[Substitution]:
    """Yield substitutions for values that another tensor already holds.

    An operator was applied twice to the same input. The second time it should have computed a
    tensor that the candidate lacks, from another input or by another operator.
    """
    makers = search.candidate.topology.maker
    counts = Counter(
        pair[0]
        for name, pair in search.pairs.items()
        if pair is not None and name in makers and makers[name].op not in _RESHAPING
    )
    for tensor in names:
        pair, maker = search.pairs.get(tensor), makers[tensor]
        if pair is None or counts[pair[0]] < 2 or maker.op in _RESHAPING:
            continue
        sources = [search.pairs.get(name) for name in search.candidate.topology.sources(maker)]
        read = {each[0] for each in sources if each is not None}
        for ref in search.frontier:
            other = search.reference.topology.maker.get(ref)
            shape = search.values[tensor].shape
            if other is not None and (
                other.op == maker.op or read == set(search.reference.topology.sources(other))
            ):
                fits = spelled_out(search.reference.values[ref].shape) == spelled_out(shape)
                for moved in rearrangements(search.reference.values[ref], shape) if fits else ():
                    yield Substitution(tensor=tensor, counterpart=ref, moved=moved, permuted=False)

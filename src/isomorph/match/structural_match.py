"""Match tensors by structure alone: the same operator on aligned tensors gives aligned tensors.

This is for tensors without known values: those inside If, Loop, Scan and While, and those after an
unexplained difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node

_COMMUTES = frozenset({"Add", "Mul", "And", "Or", "Xor", "Max", "Min", "Equal"})


def match_by_structure(
    reference: Graph, candidate: Graph, known: Mapping[str, str], ends: Mapping[str, str]
) -> dict[str, str]:
    """Return the reference's tensor for each of the candidate's that is computed the same way.

    ``known`` are aligned tensors of the graphs or from outside, by the candidate's name; ``ends``
    are aligned outputs, from which the graphs are also followed backward. Tensors that share one
    computation with others of their graph are left out: their order proves nothing.
    """
    pairs = _forward(reference, candidate, known)
    _backward(reference, candidate, {**known, **ends, **pairs}, pairs)
    pairs.update({name: ref for name, ref in ends.items() if name not in pairs})
    return pairs


def _forward(reference: Graph, candidate: Graph, known: Mapping[str, str]) -> dict[str, str]:
    ref = _classes(reference, {name: name for name in known.values()})
    cand = _classes(candidate, known)
    once = [
        {kind for kind, count in Counter(side.values()).items() if count == 1}
        for side in (ref, cand)
    ]
    names = {kind: name for name, kind in ref.items() if kind in once[0]}
    return {name: names[kind] for name, kind in cand.items() if kind in once[1] and kind in names}


def _classes(graph: Graph, known: Mapping[str, str]) -> dict[str, Hashable]:
    """Hash what each tensor is computed from, by the reference's names."""
    kinds: dict[str, Hashable] = {name: ("known", ref) for name, ref in known.items()}
    kinds |= {name: _stored(each) for name, each in graph.constants.items() if name not in kinds}
    found: dict[str, Hashable] = {}
    for node in graph.nodes:
        operands = [kinds.get(name) for name in node.inputs if name]
        if None in operands or not operands or node.bodies:
            continue
        if node.op in _COMMUTES:
            operands.sort(key=hash)
        for place, name in enumerate(node.outputs):
            if name and name not in kinds:
                # The hash of a nested tuple costs as much as the whole history of the tensor.
                kinds[name] = found[name] = hash((node.op, tuple(operands), place))
    return found


def _stored(constant: Constant) -> Hashable:
    return "constant", constant.value_digest


def _backward(
    reference: Graph, candidate: Graph, ends: Mapping[str, str], pairs: dict[str, str]
) -> None:
    """Pair the inputs of nodes with the same operator, starting from aligned outputs."""
    left = {name: node for node in reference.nodes for name in node.outputs if name}
    right = {name: node for node in candidate.nodes for name in node.outputs if name}
    settled = {**ends, **pairs}
    taken = set(settled.values())
    open_ends = list(ends.items())
    while open_ends:
        cand, ref = open_ends.pop()
        maker, other = right.get(cand), left.get(ref)
        if maker is None or other is None or maker.op != other.op:
            continue
        for name, partner in _operands(maker, other, settled, taken):
            if name in right and partner in left and name not in settled:
                pairs[name] = settled[name] = partner
                taken.add(partner)
                open_ends.append((name, partner))


def _operands(
    maker: Node, other: Node, settled: Mapping[str, str], taken: set[str]
) -> list[tuple[str, str]]:
    """Pair unsettled operands by position; of a commutative operator, the only one left."""
    if maker.op not in _COMMUTES and len(maker.inputs) == len(other.inputs):
        roles = zip(maker.inputs, other.inputs, strict=True)
        return [(name, partner) for name, partner in roles if partner not in taken]
    unsettled = [name for name in maker.inputs if name and name not in settled]
    there = [name for name in other.inputs if name and name not in taken]
    return [(unsettled[0], there[0])] if len(unsettled) == len(there) == 1 else []

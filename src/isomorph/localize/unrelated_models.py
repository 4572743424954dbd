"""Two networks that are not one converted: nothing that was learned has its like on the other side.

A fault changes a weight or two. Where no weight is the other side's, and most of what both hold
has sizes that the other side lacks, there is no guilty node to be found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.match.folded_weights import LINEAR
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node

_MOST_TOLD = 12
_RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
_PRODUCTS = LINEAR | {"Einsum"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """A stored matrix or kernel, and the node that reads it."""

    node: str
    op: str
    shape: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Its axes, whatever their order and those of size one."""
        return tuple(sorted(size for size in self.shape if size != 1))

    @property
    def words(self) -> str:
        """For the report."""
        return f"{self.op} {self.node!r}: {'×'.join(map(str, self.shape))}"


def unrelated(reference: Graph, candidate: Graph) -> Finding | None:
    """The finding that these are different networks; None where they may be the same one."""
    packed = all(any(n.op in _RECURRENT for n in graph.nodes) for graph in (reference, candidate))
    folded = [_folded(graph) for graph in (reference, candidate)]
    if None in folded:
        return None  # what is computed of constants has sizes that nobody states
    mine, yours = (
        [*_weights(graph, packed=packed), *(each or ())]
        for graph, each in zip((reference, candidate), folded, strict=True)
    )
    if not mine or not yours or _elements(mine) == _elements(yours):
        return None  # what is split or joined keeps the number of its elements
    multiplied = [_elements([w for w in side if w.op in _PRODUCTS]) for side in (mine, yours)]
    if multiplied[0] == multiplied[1] > 0:
        return None  # a tensor that is only added somewhere makes no other network
    stored = {each.value_digest for graph in (reference,) for each in graph.constants.values()}
    if any(each.value_digest in stored for each in candidate.constants.values() if _large(each)):
        return None
    ours, theirs = _only(mine, yours), _only(yours, mine)
    if 2 * _elements(ours) <= _elements(mine) or 2 * _elements(theirs) <= _elements(yours):
        return None
    return Finding(
        rank=0,
        code="DIFFERENT_NETWORKS",
        cause=None,
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary="these are different networks, not one converted: " + _told(ours, theirs),
        evidence={
            "reference": [each.words for each in ours[:_MOST_TOLD]],
            "candidate": [each.words for each in theirs[:_MOST_TOLD]],
            "weights": [_elements(mine), _elements(yours)],
        },
        fix="check that both files are meant to be the same model, of the same training",
    )


def _told(ref: Sequence[Weight], cand: Sequence[Weight]) -> str:
    """The widths that only one side has, and how much each side has learned."""
    left, right = ({size for each in side for size in each.sizes} for side in (ref, cand))
    told = []
    if left - right and right - left:
        told.append(f"where one has {_list(left - right)}, the other has {_list(right - left)}")
    told.append(
        f"no weight has a counterpart ({len(ref)} of the reference with {_elements(ref)} "
        f"numbers, {len(cand)} of the candidate with {_elements(cand)})"
    )
    return "; ".join(told)


def _list(sizes: set[int]) -> str:
    told = [str(size) for size in sorted(sizes)]
    return "size " + (", ".join(told[:4]) + (" …" if len(told) > 4 else ""))


def _only(here: Sequence[Weight], there: Sequence[Weight]) -> list[Weight]:
    """The weights of sizes that the other side does not have as often."""
    left = Counter(each.sizes for each in there)
    found = []
    for each in here:
        if left[each.sizes] > 0:
            left[each.sizes] -= 1
        else:
            found.append(each)
    return found


def _weights(graph: Graph, *, packed: bool) -> Iterator[Weight]:
    """What products are made with: real numbers along two axes and more.

    One of the axes may have size one in a product, where a matrix was split into its columns.
    ``packed``: those of recurrent layers are one, biases included: each framework joins gates,
    directions and biases in its own way, and only the number of them all is the same.
    """
    quantized = {entry.tensor for entry in graph.quantization}
    readers = _first_readers(graph)
    joined: list[Weight] = []
    for name, constant in graph.constants.items():
        if name not in readers or not ("float" in constant.dtype or name in quantized):
            continue
        reader = readers[name]
        weight = Weight(node=reader.name, op=reader.op, shape=constant.shape)
        if packed and reader.op in _RECURRENT:
            joined += [weight] if not _begins(reader, name) else []
        elif len(weight.sizes) >= 2 or (reader.op in _PRODUCTS and len(weight.shape) >= 2):
            yield weight
    if joined:
        yield replace(joined[0], shape=(_elements(joined),))


def _first_readers(graph: Graph) -> dict[str, Node]:
    """The first node that reads each constant and whose result depends on the inputs.

    What only makes another constant is no weight: a converter may have stored the result instead.
    """
    fixed = _fixed(graph)
    readers: dict[str, Node] = {}
    for node in reversed(graph.nodes):
        if fixed.isdisjoint(node.outputs):
            readers.update(dict.fromkeys(Topology.reads(node), node))
    return readers


def _fixed(graph: Graph) -> set[str]:
    """The tensors that are computed of constants alone."""
    fixed: set[str] = set()
    for node in graph.nodes:
        read = Topology.reads(node)
        if read and all(name in fixed or name in graph.constants for name in read):
            fixed.update(node.outputs)
    return fixed


def _folded(graph: Graph) -> list[Weight] | None:
    """What is computed of constants and read with the signal; None where a size is unknown."""
    fixed, found = _fixed(graph), []
    for name, reader in _first_readers(graph).items():
        if name not in fixed:
            continue
        spec = graph.tensors.get(name)
        if spec is not None and spec.dtype is not None and "float" not in spec.dtype:
            continue
        if spec is None or spec.shape is None:
            return None
        shape = tuple(size for size in spec.shape if isinstance(size, int))
        if len(shape) != len(spec.shape):
            return None
        weight = Weight(node=reader.name, op=reader.op, shape=shape)
        if len(weight.sizes) >= 2:
            found.append(weight)
    return found


def _begins(reader: Node, name: str) -> bool:
    """Whether a recurrent node of ONNX begins with it: lengths and first states are not learned."""
    return reader.native_op.rpartition("::")[2] in _RECURRENT and name in reader.inputs[4:7]


def _large(constant: Constant) -> bool:
    """Too much to be equal by accident: zeros, ones and epsilons are everywhere."""
    return constant.values is None and sum(size != 1 for size in constant.shape) >= 2


def _elements(weights: Sequence[Weight]) -> int:
    return sum(math.prod(each.shape) for each in weights)

"""Recognize two unrelated networks, where neither is a conversion of the other.

A fault changes one or two weights. Where no weight has a counterpart, and most weights of both have
sizes that the other lacks, there is no faulty node to find.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.messages import message
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.match.folded_weights import LINEAR
from isomorph.match.topology import Topology
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.model import Constant, Graph, Node

_MOST_LISTED = 12
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
        """The sorted sizes of its axes, without those of size one."""
        return tuple(sorted(size for size in self.shape if size != 1))

    @property
    def text(self) -> str:
        """The weight as text for the report."""
        return f"{self.op} {self.node!r}: {'×'.join(map(str, self.shape))}"


def unrelated(reference: Graph, candidate: Graph) -> Finding | None:
    """Return the finding that these are different networks; None where they may be one."""
    if _fills_channels(reference) or _fills_channels(candidate):
        return None  # sizes that were filled up say nothing
    packed = all(any(n.op in _RECURRENT for n in graph.nodes) for graph in (reference, candidate))
    folded = [_folded(graph) for graph in (reference, candidate)]
    if None in folded:
        return None  # the sizes of what is computed from constants are unknown
    ref, cand = (
        [*_weights(graph, packed=packed), *(each or ())]
        for graph, each in zip((reference, candidate), folded, strict=True)
    )
    if not ref or not cand or _elements(ref) == _elements(cand):
        return None  # splitting and concatenating weights keeps the number of elements
    multiplied = [_elements([w for w in side if w.op in _PRODUCTS]) for side in (ref, cand)]
    if multiplied[0] == multiplied[1] > 0:
        return None  # a tensor that is only added does not make another network
    stored = {each.value_digest for graph in (reference,) for each in graph.constants.values()}
    if any(each.value_digest in stored for each in candidate.constants.values() if _large(each)):
        return None
    ref_only, cand_only = _only(ref, cand), _only(cand, ref)
    if 2 * _elements(ref_only) <= _elements(ref) or 2 * _elements(cand_only) <= _elements(cand):
        return None
    return Finding(
        code="DIFFERENT_NETWORKS",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=message("DIFFERENT_NETWORKS.sizes", details=_text(ref_only, cand_only)),
        evidence={
            "reference": [each.text for each in ref_only[:_MOST_LISTED]],
            "candidate": [each.text for each in cand_only[:_MOST_LISTED]],
            "weights": [_elements(ref), _elements(cand)],
        },
        fix=message("FIX.same_model"),
    )


def _fills_channels(graph: Graph) -> bool:
    """Whether the weights of an operator are filled up with zeros to whole blocks of channels."""
    beginning = operator_tables(graph.framework).padded_channels
    return beginning is not None and any(n.native_op.startswith(beginning) for n in graph.nodes)


def _text(ref: Sequence[Weight], cand: Sequence[Weight]) -> str:
    """Describe the sizes that only one model has, and how many weights each has."""
    left, right = ({size for each in side for size in each.sizes} for side in (ref, cand))
    parts = []
    if left - right and right - left:
        parts.append(
            message(
                "DIFFERENT_NETWORKS.only",
                reference=_list(left - right),
                candidate=_list(right - left),
            )
        )
    parts.append(
        message(
            "DIFFERENT_NETWORKS.weights",
            ref=len(ref),
            ref_numbers=_elements(ref),
            cand=len(cand),
            cand_numbers=_elements(cand),
        )
    )
    return "; ".join(parts)


def _list(sizes: set[int]) -> str:
    parts = [str(size) for size in sorted(sizes)]
    return "size " + (", ".join(parts[:4]) + (" …" if len(parts) > 4 else ""))


def _only(here: Sequence[Weight], there: Sequence[Weight]) -> list[Weight]:
    """Return the weights whose sizes the other model does not have as often."""
    left = Counter(each.sizes for each in there)
    found = []
    for each in here:
        if left[each.sizes] > 0:
            left[each.sizes] -= 1
        else:
            found.append(each)
    return found


def _weights(graph: Graph, *, packed: bool) -> Iterator[Weight]:
    """Yield the real weights of products: those with two axes or more.

    An axis may have size one where a matrix was split into its columns. ``packed``: the weights of
    recurrent layers count as one, including biases, since each framework packs gates, directions
    and biases in its own way, and only the total number of elements is the same.
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
    """Return the first data-dependent node that reads each constant.

    What only computes another constant is no weight: a converter may have stored the result.
    """
    fixed = _fixed(graph)
    readers: dict[str, Node] = {}
    for node in reversed(graph.nodes):
        if fixed.isdisjoint(node.outputs):
            readers.update(dict.fromkeys(Topology.reads(node), node))
    return readers


def _fixed(graph: Graph) -> set[str]:
    """Return the tensors that are computed from constants alone."""
    fixed: set[str] = set()
    for node in graph.nodes:
        read = Topology.reads(node)
        if read and all(name in fixed or name in graph.constants for name in read):
            fixed.update(node.outputs)
    return fixed


def _folded(graph: Graph) -> list[Weight] | None:
    """Return weights that are computed from constants; None where a size is unknown."""
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
    """Whether it is a sequence length or initial state of an ONNX recurrent node."""
    return reader.native_op.rpartition("::")[2] in _RECURRENT and name in reader.inputs[4:7]


def _large(constant: Constant) -> bool:
    """Whether a constant is too large to be equal by accident, unlike zeros and epsilons."""
    return constant.values is None and sum(size != 1 for size in constant.shape) >= 2


def _elements(weights: Sequence[Weight]) -> int:
    return sum(math.prod(each.shape) for each in weights)

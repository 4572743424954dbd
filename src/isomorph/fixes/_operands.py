"""What an operator of the reference reads, found in the candidate or brought along."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.ops import RESHAPES
from isomorph.core.patch import AddConstant, Edit, InsertAhead
from isomorph.core.repair_limits import FOLLOWED_RESHAPES
from isomorph.diagnose import node_constants
from isomorph.diagnose.parameters import dtype_of, unused_name
from isomorph.match.topology import Topology
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array

# Operators that read further tensors: constants of the reference, or what corresponds here.
_WITH_OPERANDS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "PRelu", "BatchNormalization",
     "LayerNormalization", "InstanceNormalization", "And", "Or", "Where", "Clip"}
)  # fmt: skip
_RESHAPING = RESHAPES | {"Expand"}
_NUMBERS = ("other", "exponent")
"""PyTorch's words for an operand that is written in the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """The inputs of a new node; the empty word stands for the tensor that it is put behind.

    ``before`` has to be done first; ``after`` gives an operand the reference's axes once the
    node is there.
    """

    reads: tuple[str, ...]
    before: tuple[AddConstant, ...] = ()
    after: tuple[Edit, ...] = ()


def operands(context: FaultContext, counterpart: Node, name: str) -> Iterator[Operands]:
    """Every way to read what the counterpart reads, for a new node of this name."""
    if counterpart.op not in _WITH_OPERANDS:
        return
    inputs = _in_onnx(context.reference, counterpart)
    for signal in range(len(inputs)):
        found = _Reading(context, counterpart.op, name)
        for place, (tensor, value) in enumerate(inputs):
            found.read(place, tensor, value, signal=place == signal)
        if found.complete:
            yield Operands(
                reads=tuple(found.reads), before=tuple(found.before), after=tuple(found.after)
            )


def _in_onnx(graph: Graph, node: Node) -> Sequence[tuple[str, float | None]]:
    """The inputs in ONNX's order, tensors or numbers; some frameworks have another order."""
    tables = operator_tables(graph.framework)
    if node.native_op in tables.filled_where and len(node.inputs) >= 2:
        number = node.attributes.get("value")
        filled = node.inputs[2] if len(node.inputs) > 2 else ""
        return ((node.inputs[1], None), (filled, number), (node.inputs[0], None))
    read: list[tuple[str, float | None]] = [(name, None) for name in node.inputs]
    if node.op == "Clip":
        bounds: list[tuple[str, float | None]] = [("", edge) for edge in _bounds(graph, node)]
        for place, given in enumerate(read[1:3]):
            bounds[place] = given if given[0] else bounds[place]
        return [*read[:1], *bounds]
    number = next((node.attributes[word] for word in _NUMBERS if word in node.attributes), None)
    if len(read) == 1 and isinstance(number, (int, float)):
        given = ("", float(number))
        return [given, *read] if node.native_op in tables.numbers_first else [*read, given]
    return read


def _bounds(graph: Graph, node: Node) -> tuple[float, float]:
    """Between what a Clip keeps its values where it reads no bounds; what is open is infinite."""
    tables = operator_tables(graph.framework)
    low, high = tables.clip_bounds.get(node.native_op, (-math.inf, math.inf))
    stated = node.attributes
    bounds = (
        stated.get("min", stated.get("min_val", low)),
        stated.get("max", stated.get("max_val", high)),
    )
    least, most = (
        edge if bound is None else float(bound)
        for bound, edge in zip(bounds, (-math.inf, math.inf), strict=True)
    )
    return least, most


class _Reading:
    """The inputs of one new node, collected place by place."""

    def __init__(self, context: FaultContext, op: str, name: str) -> None:
        self._context, self._op, self._name = context, op, name
        self.reads: list[str] = []
        self.before: list[AddConstant] = []
        self.after: list[Edit] = []
        self.complete = False
        self._lost = False

    def read(self, place: int, tensor: str, number: float | None, *, signal: bool) -> None:
        """One operand: the signal itself, a constant, or a tensor that the candidate has."""
        context = self._context
        value = self._steady(tensor, number)
        if signal and value is None:
            self.reads.append("")
            self.complete = not self._lost
        elif value is not None:
            self.reads.append(self._stored(place, value))
        else:
            here, shape = _same_tensor(context, tensor)
            self.reads.append(here or "?")
            if here is None:
                self._lost, self.complete = True, False
            elif shape is not None:
                self._shaped(place, shape)

    def _steady(self, tensor: str, number: float | None) -> Array | None:
        if number is not None:
            return np.asarray(float(number))
        steady = bool(tensor) and node_constants.fixed(self._context.reference, tensor)
        return self._context.value(self._context.reference, tensor) if steady else None

    def _stored(self, place: int, value: Array) -> str:
        own = unused_name(self._context, f"{self._context.tensor}_{self._op}_{place}")
        kind = dtype_of(self._context, self._context.tensor) or value.dtype
        if value.dtype.kind == "f" and np.dtype(kind).kind in "iu":
            ends = np.iinfo(kind)  # the largest float below: the end itself may be rounded up
            value = np.clip(value, ends.min, np.nextafter(float(ends.max), 0.0))
        array = value.astype(kind) if value.dtype.kind == "f" else value
        self.before.append(AddConstant(name=own, value=array))
        return own

    def _shaped(self, place: int, shape: tuple[int, ...]) -> None:
        own = unused_name(self._context, f"{self._context.tensor}_{self._op}_{place}_shape")
        self.before.append(AddConstant(name=own, value=np.asarray(shape, np.int64)))
        self.after.append(
            InsertAhead(
                node=self._name, index=place, op="Reshape", inputs=("", own),
                name=unused_name(self._context, f"{self._name}_{place}_shaped"),
            )
        )  # fmt: skip


def _same_tensor(context: FaultContext, tensor: str) -> tuple[str | None, tuple[int, ...] | None]:
    """The candidate's tensor of these values, and the shape that it needs to stand for it.

    What the reference only reshaped may be here in the shape that it had before.
    """
    makers = Topology(context.reference).maker
    meant, name = context.value(context.reference, tensor), tensor
    for _ in range(FOLLOWED_RESHAPES.most):
        matched = context.matching_tensor(name)
        value = context.value(context.candidate, matched) if matched is not None else None
        if matched is not None and value is not None and meant is not None:
            return matched, _shape_to_take(value.shape, meant.shape)
        maker = makers.get(name)
        if maker is None or maker.op not in _RESHAPING or not maker.inputs:
            break
        name = maker.inputs[0]
    else:
        FOLLOWED_RESHAPES.reached()
    return None, None


def _shape_to_take(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...] | None:
    """Sizes for a Reshape to ``target``, where 0 keeps a leading size; None if none is needed."""
    while target and len(target) > len(shape) and target[0] == 1:
        target = target[1:]  # an axis of one in front comes of itself
    if shape == target[-len(shape) :] or not shape:
        return None
    if int(np.prod(shape)) != int(np.prod(target)):
        # It was expanded: without that, it is spread out by whoever reads it.
        left = list(shape)
        target = tuple(left.pop(0) if left and size == left[0] else 1 for size in target)
    taken = [0 if i < len(shape) and shape[i] == size else size for i, size in enumerate(target)]
    free = [i for i, size in enumerate(taken) if size > 1]
    if len(free) == 1:
        taken[free[0]] = -1
    return tuple(taken)

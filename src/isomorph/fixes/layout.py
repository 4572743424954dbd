"""Axes, operands and parts put back into the reference's order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, permutations
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import INPUT_ORDERS
from isomorph.core.messages import message
from isomorph.core.patch import (
    InsertAhead,
    InsertBehind,
    Patch,
    RemoveNode,
    SetInput,
)
from isomorph.core.repair_limits import CONCAT_PARTS, MOVED_AXES, TRANSPOSED_AXES, TRANSPOSED_NODES
from isomorph.diagnose import node_constants
from isomorph.diagnose.operand_swaps import exchanges, outputs_exchanged
from isomorph.diagnose.parameters import constant_edits, current, parameter, unused_name
from isomorph.fixes._neighbors import neighbors

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding


class Layout:
    """A permutation corrected, a transpose removed or inserted, operands or parts exchanged."""

    name = "layout"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """What changes a node that is there comes before what inserts one."""
        for node in neighbors(context, depth=2):
            if node.op == "Transpose":
                yield from _permutations(context, node)
        for node in context.nodes:
            yield from _parts(node)
            yield from _exchanged(context, node)
            yield from _outputs(context, node)
        yield from _transposed_constants(context)
        for node in neighbors(context, depth=2):
            if node.op == "Transpose":
                yield Patch(
                    summary=message("PATCH.remove", op="Transpose", node=node.name),
                    edits=(RemoveNode(node=node.name),),
                )
        yield from _inserted(context)
        for node in neighbors(context, depth=1):
            if node.op == "Reshape":
                yield from _cut_otherwise(context, node)


def _few(axes: int) -> bool:
    """Whether there are several axes, and few enough to try them in every order."""
    if axes > MOVED_AXES.most:
        MOVED_AXES.reached()
    return 2 <= axes <= MOVED_AXES.most


def _cut_otherwise(context: FaultContext, node: Node) -> Iterator[Patch]:
    """A Reshape whose sizes came out right and whose axes did not: cut first, then moved."""
    name = node.inputs[1] if len(node.inputs) > 1 else ""
    constant = context.candidate.constants.get(name)
    value = context.value(context.candidate, node.outputs[0])
    if constant is None or constant.values is None or value is None or not _few(value.ndim):
        return
    for order in islice(permutations(range(value.ndim)), 1, None):
        sizes = np.zeros(value.ndim, np.int64)
        sizes[list(order)] = value.shape
        if order[0] == 0:
            sizes[0] = constant.values[0]  # a batch that is free stays so
        yield Patch(
            summary=message(
                "PATCH.reshape_transpose", node=node.name, sizes=sizes.tolist(), order=order
            ),
            edits=(
                *constant_edits(context, name, sizes),
                InsertBehind(
                    tensor=node.outputs[0],
                    op="Transpose",
                    name=unused_name(context, f"{node.name}_transposed"),
                    attributes={"perm": order},
                ),
            ),
        )


def _permutations(context: FaultContext, node: Node) -> Iterator[Patch]:
    now = tuple(current(context, node, "perm") or ())
    for order in _orders(now):
        if order != now:
            change = message("PATCH.change", name="perm", now=now, right=order)
            yield Patch(
                summary=message("PATCH.parameters", op=node.op, node=node.name, changes=change),
                edits=parameter(context, node, "perm", order),
            )


def _orders(now: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every order of a few axes; of many, those in which two stand in each other's place."""
    if 1 < len(now) <= TRANSPOSED_AXES.most:
        yield from permutations(range(len(now)))
        return
    if now:
        TRANSPOSED_AXES.reached()
    for left, right in combinations(range(len(now)), 2):
        order = list(now)
        order[left], order[right] = now[right], now[left]
        yield tuple(order)


def _exchanged(context: FaultContext, node: Node) -> Iterator[Patch]:
    """Two inputs of one shape among more of them, each in the other's place."""
    if node.op == "Concat" or len(node.inputs) <= 2:
        return
    for order in INPUT_ORDERS.first(exchanges(context.candidate, node)):
        moved = [place for place, name in enumerate(order) if name != node.inputs[place]]
        yield Patch(
            summary=message(
                "PATCH.swap_inputs", op=node.op, node=node.name, one=moved[0], other=moved[1]
            ),
            edits=tuple(
                SetInput(node=node.name, index=place, tensor=order[place]) for place in moved
            ),
        )


def _outputs(context: FaultContext, node: Node) -> Iterator[Patch]:
    """Two outputs of one node, each read where the other was."""
    for (left, right), edits in INPUT_ORDERS.first(outputs_exchanged(context.candidate, node)):
        yield Patch(
            summary=message(
                "PATCH.swap_outputs", op=node.op, node=node.name, one=left, other=right
            ),
            edits=edits,
        )


def _parts(node: Node) -> Iterator[Patch]:
    """The inputs of a node among themselves: two operands, or the parts of a Concat."""
    count = len(node.inputs) if node.op == "Concat" else min(len(node.inputs), 2)
    if count > CONCAT_PARTS.most:
        CONCAT_PARTS.reached()
    if not 2 <= count <= CONCAT_PARTS.most:
        return
    for order in permutations(range(count)):
        moved = [place for place in range(count) if node.inputs[order[place]] != node.inputs[place]]
        if not moved:
            continue
        names = ", ".join(repr(node.inputs[place]) for place in order)
        yield Patch(
            summary=message("PATCH.order_inputs", op=node.op, node=node.name, names=names),
            edits=tuple(
                SetInput(node=node.name, index=place, tensor=node.inputs[order[place]])
                for place in moved
            ),
        )


def _transposed_constants(context: FaultContext) -> Iterator[Patch]:
    for name in node_constants.floats(context.candidate, context.nodes):
        shape = context.candidate.constants[name].shape
        if not _few(len(shape)):
            continue
        value = context.constant(context.candidate, name)
        for order in permutations(range(len(shape))):
            fits = tuple(shape[axis] for axis in order) == shape
            if value is not None and fits and order != tuple(range(len(shape))):
                yield Patch(
                    summary=message("PATCH.transpose_constant", name=name, order=order),
                    edits=constant_edits(
                        context, name, np.ascontiguousarray(value.transpose(order))
                    ),
                )


def _inserted(context: FaultContext) -> Iterator[Patch]:
    """A Transpose after the wrong tensor, or before one of the inputs of the faulty nodes."""
    name = unused_name(context, f"{context.node.name}_transposed")
    shape = context.wrong.shape
    if len(shape) > TRANSPOSED_AXES.most:
        TRANSPOSED_AXES.reached()
    elif len(shape) > 1 and context.tensor in context.node.outputs:
        for order in permutations(range(len(shape))):
            fits = tuple(shape[axis] for axis in order) == context.right.shape
            if fits and order != tuple(range(len(shape))):
                yield Patch(
                    summary=message("PATCH.transpose_after", order=order, tensor=context.tensor),
                    edits=(
                        InsertBehind(
                            tensor=context.tensor,
                            op="Transpose",
                            name=name,
                            attributes={"perm": order},
                        ),
                    ),
                )
    others = [node for node in context.nodes if node.name != context.node.name]
    for node in (context.node, *TRANSPOSED_NODES.first(others)):
        yield from _inserted_before(context, node, name)


def _inserted_before(context: FaultContext, node: Node, name: str) -> Iterator[Patch]:
    for place, tensor in enumerate(node.inputs):
        spec = context.candidate.tensors.get(tensor)
        rank = len(spec.shape) if spec is not None and spec.shape is not None else 0
        if tensor in context.candidate.constants or not _few(rank):
            continue
        for order in permutations(range(rank)):
            if order != tuple(range(rank)):
                yield Patch(
                    summary=message("PATCH.transpose_before", order=order, node=node.name),
                    edits=(
                        InsertAhead(
                            node=node.name,
                            index=place,
                            op="Transpose",
                            name=name,
                            attributes={"perm": order},
                        ),
                    ),
                )

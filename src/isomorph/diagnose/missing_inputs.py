"""Inputs that a node lacks, or reads from elsewhere than its counterpart does, connected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.messages import message
from isomorph.core.patch import AddConstant, Patch, SetInput
from isomorph.diagnose.parameters import unused_name

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node

QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})
OPTIONAL_INPUTS = {"LSTM": range(3, 8), "GRU": range(3, 6), "RNN": range(3, 6)}
"""Places at which these operators read something if they are given it."""


def connections(context: FaultContext, node: Node) -> Iterator[Patch]:
    """Each input of one node connected to what the counterpart reads: constants, then tensors."""
    yield from _constants_connected(context, node)
    yield from _connected(context, node)


def _constants_connected(context: FaultContext, node: Node) -> Iterator[Patch]:
    """A stored input that the same operator has in the reference, and this node lacks."""
    for counterpart in context.counterparts:
        if counterpart.native_op != node.native_op:
            continue
        for index, name in enumerate(counterpart.inputs):
            there = index < len(node.inputs) and node.inputs[index]
            value = context.constant(context.reference, name) if name and not there else None
            if value is None or name not in context.reference.constants:
                continue
            own = unused_name(context, f"{node.outputs[0]}_input_{index}")
            kind = context.reference.constants[name].dtype
            yield Patch(
                summary=message(
                    "PATCH.give_input", place=index, op=node.op, node=node.name, right=name
                ),
                edits=(
                    AddConstant(name=own, value=value.astype(kind)),
                    SetInput(node=node.name, index=index, tensor=own),
                ),
            )


def _connected(context: FaultContext, node: Node) -> Iterator[Patch]:
    """Tensors that the counterpart reads, on inputs that are empty or read something else."""
    meant = [
        context.matching_tensor(name)
        for each in context.counterparts
        for name in each.inputs
        if name
    ]
    unread = [name for name in dict.fromkeys(meant) if name and name not in node.inputs]
    slots = OPTIONAL_INPUTS.get(node.op, range(len(node.inputs)))
    empty = [i for i in slots if i >= len(node.inputs) or not node.inputs[i]]
    # What comes through a quantizer goes on coming through it.
    bound = {n for each in context.candidate.nodes if each.op in QUANTIZERS for n in each.outputs}
    taken = [
        i
        for i, name in enumerate(node.inputs)
        if name and name not in context.candidate.constants and name not in bound
    ]
    if empty and not unread:
        unread = [spec.name for spec in context.candidate.inputs if spec.name not in node.inputs]
    for index in (*empty, *taken):
        for tensor in unread:
            yield Patch(
                summary=message(
                    "PATCH.connect_input", place=index, op=node.op, node=node.name, tensor=tensor
                ),
                edits=(SetInput(node=node.name, index=index, tensor=tensor),),
            )

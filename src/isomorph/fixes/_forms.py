"""Operators that a converter spells out in an approximate form, brought to the exact one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import (
    AddConstant,
    InsertAhead,
    InsertBehind,
    Patch,
    SetAttribute,
    SetOp,
)
from isomorph.diagnose.flattened_softmax import taken_as_one
from isomorph.diagnose.parameters import dtype_of, unused_name

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node


def exact_gelu(context: FaultContext) -> Iterator[Patch]:
    """The error function of x/√2 in the place of the hyperbolic tangent of a cubic in x.

    What computed the cubic is left behind and no longer read by this node.
    """
    made = {name for node in context.nodes for name in node.outputs}
    sources = [
        name
        for node in context.nodes
        for name in node.inputs
        if name and name not in made and name not in context.candidate.constants
    ]
    for node in context.nodes:
        if node.op != "Tanh" or len(context.nodes) < 2:
            continue
        for source in dict.fromkeys(sources):
            kind = dtype_of(context, source) or np.dtype(np.float32)
            constant = unused_name(context, f"{node.outputs[0]}_inverse_root_2")
            yield Patch(
                summary=message("PATCH.exact_gelu", node=node.name, tensor=source),
                edits=(
                    AddConstant(name=constant, value=np.asarray(np.sqrt(0.5), kind)),
                    InsertAhead(
                        node=node.name,
                        index=0,
                        op="Mul",
                        name=unused_name(context, f"{node.name}_scaled"),
                        inputs=(source, constant),
                    ),
                    SetOp(node=node.name, op="Erf"),
                ),
            )


def over_its_own_axes(context: FaultContext) -> Iterator[Patch]:
    """Softmax as the reference's operator set reads its axis: that one alone, or all from it on."""
    found = taken_as_one(context)
    if found is not None:
        node, axis, flat, _ = found
        yield _along_one(context, node, axis) if flat else _over_all(context, node, axis)


def _along_one(context: FaultContext, node: Node, axis: int) -> Patch:
    """Before opset 13, along one axis only: that axis last, and back behind it."""
    order = list(range(context.right.ndim))
    order[axis], order[-1] = order[-1], order[axis]
    return Patch(
        summary=message("PATCH.one_axis", op=node.op, node=node.name, axis=axis),
        edits=(
            InsertAhead(
                node=node.name,
                index=0,
                op="Transpose",
                name=unused_name(context, f"{node.name}_ahead"),
                attributes={"perm": tuple(order)},
            ),
            SetAttribute(node=node.name, name="axis", value=context.right.ndim - 1),
            InsertBehind(
                tensor=node.outputs[0],
                op="Transpose",
                name=unused_name(context, f"{node.name}_behind"),
                attributes={"perm": tuple(order)},
            ),
        ),
    )


def _over_all(context: FaultContext, node: Node, axis: int) -> Patch:
    """Since opset 13, over several axes: they are made one, and parted again behind it."""
    back = unused_name(context, f"{node.name}_behind")
    return Patch(
        summary=message("PATCH.all_axes", op=node.op, node=node.name, axis=axis),
        edits=(
            InsertAhead(
                node=node.name,
                index=0,
                op="Flatten",
                name=unused_name(context, f"{node.name}_ahead"),
                attributes={"axis": axis},
            ),
            SetAttribute(node=node.name, name="axis", value=1),
            InsertBehind(
                tensor=node.outputs[0], op="Reshape", name=back, inputs=("", node.inputs[0])
            ),
            # The sizes are those of the input, whatever they are.
            InsertAhead(
                node=back, index=1, op="Shape", name=unused_name(context, f"{node.name}_sizes")
            ),
        ),
    )

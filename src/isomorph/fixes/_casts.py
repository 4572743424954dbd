"""Types that do not hold the values: casts widened or removed, roundings changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import (
    AddConstant,
    Edit,
    InsertAhead,
    Patch,
    RemoveNode,
    SetAttribute,
    SetInput,
    SetOp,
)
from isomorph.diagnose.parameters import unused_name
from isomorph.fixes._neighbors import neighbors, readers

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node

_ROUNDINGS = ("Floor", "Ceil", "Round")
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min"})
# Element types of ONNX by number, the wide ones that a cast may be widened to.
_WIDE = {1: "float32", 7: "int64", 11: "float64", 6: "int32"}
_NUMBER = {name: number for number, name in _WIDE.items()}


def widened(context: FaultContext, *, depth: int) -> Iterator[Patch]:
    """The casts near the wrong tensor, in the type of what they read first."""
    casts = [node for node in neighbors(context, depth=depth) if node.op == "Cast"]
    for node in casts:
        for number in _targets(context, node):
            yield Patch(
                summary=message(
                    "PATCH.cast", node=node.name, now=_kind(context, node), right=_WIDE[number]
                ),
                edits=(
                    SetAttribute(node=node.name, name="to", value=number),
                    *_operands_too(context, node, _WIDE[number]),
                ),
            )
    for node in casts:
        yield Patch(
            summary=message("PATCH.remove", op="Cast", node=node.name),
            edits=(RemoveNode(node=node.name),),
        )
    for first in casts:
        for second in casts:
            if first.outputs[0] in second.inputs:
                yield Patch(
                    summary=message(
                        "PATCH.remove_several", op="Cast", nodes=f"{first.name!r}, {second.name!r}"
                    ),
                    edits=(RemoveNode(node=first.name), RemoveNode(node=second.name)),
                )


def _operands_too(context: FaultContext, cast: Node, wide: str) -> Iterator[Edit]:
    """Constants that meet the cast value in its narrow type meet it in the wide one."""
    narrow = _kind(context, cast)
    for node in context.candidate.nodes:
        if cast.outputs[0] not in node.inputs or node.op not in _ARITHMETIC:
            continue
        for place, name in enumerate(node.inputs):
            constant = context.candidate.constants.get(name)
            value = context.constant(context.candidate, name) if constant is not None else None
            if constant is not None and value is not None and constant.dtype == narrow:
                own = unused_name(context, f"{name}_{wide}")
                yield AddConstant(name=own, value=np.asarray(value).astype(wide))
                yield SetInput(node=node.name, index=place, tensor=own)


def divided(context: FaultContext) -> Iterator[Patch]:
    """A division of integers made one of real numbers: both operands cast before it."""
    for node in context.nodes:
        kind = "" if not node.inputs else _declared(context, node.inputs[0])
        if node.op != "Div" or len(node.inputs) != 2 or "int" not in kind:
            continue
        edits: list[Edit] = []
        for place, name in enumerate(node.inputs):
            value = context.constant(context.candidate, name) if _stored(context, name) else None
            if value is not None:
                own = unused_name(context, f"{name}_float")
                edits.append(AddConstant(name=own, value=np.asarray(value).astype(np.float32)))
                edits.append(SetInput(node=node.name, index=place, tensor=own))
            else:
                edits.append(
                    InsertAhead(
                        node=node.name,
                        index=place,
                        op="Cast",
                        name=unused_name(context, f"{node.name}_float_{place}"),
                        attributes={"to": _NUMBER["float32"]},
                    )
                )
        yield Patch(summary=message("PATCH.float_division", node=node.name), edits=tuple(edits))


def _stored(context: FaultContext, name: str) -> bool:
    return name in context.candidate.constants


def _declared(context: FaultContext, name: str) -> str:
    return context.candidate.declared_dtype(name) or ""


def rounded(context: FaultContext) -> Iterator[Patch]:
    """Another rounding, none, or one more, before the values become integers."""
    near = [*neighbors(context), *readers(context)]
    for node in near:
        if node.op in _ROUNDINGS:
            yield Patch(
                summary=message("PATCH.remove", op=node.op, node=node.name),
                edits=(RemoveNode(node=node.name),),
            )
            for op in _ROUNDINGS:
                if op != node.op:
                    yield Patch(
                        summary=message("PATCH.replace", op=node.op, node=node.name, right=op),
                        edits=(SetOp(node=node.name, op=op),),
                    )
    for node in near:
        if node.op == "Cast" and "int" in _kind(context, node):
            for op in _ROUNDINGS:
                yield Patch(
                    summary=message("PATCH.insert_before", op=op, node=node.name),
                    edits=(
                        InsertAhead(
                            node=node.name,
                            index=0,
                            op=op,
                            name=unused_name(context, f"{node.name}_{op}"),
                        ),
                    ),
                )


def _targets(context: FaultContext, node: Node) -> list[int]:
    spec = context.candidate.tensors.get(node.inputs[0])
    source = _NUMBER.get((spec.dtype if spec is not None else None) or "")
    preferred = [source] if source is not None else []
    now = node.attributes.get("to")
    return [number for number in dict.fromkeys([*preferred, *_WIDE]) if number != now]


def _kind(context: FaultContext, node: Node) -> str:
    spec = context.candidate.tensors.get(node.outputs[0])
    return (spec.dtype if spec is not None else None) or message("PATCH.unknown_type")

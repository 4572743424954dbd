"""Biases of whole numbers, as they follow from the reference's bias and the scales around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import AddConstant, Patch, SetConstant, SetInput
from isomorph.diagnose import node_constants
from isomorph.diagnose.folded_constants import folded
from isomorph.diagnose.node_constants import stored_constant
from isomorph.diagnose.parameters import unused_name

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

# For each operator, where the scales of data and weight and the bias stand.
_PLACES = {"QLinearConv": (1, 4, 8)}


def integer_biases(context: FaultContext) -> Iterator[Patch]:
    """The reference's bias in products of the two scales, set or connected."""
    for node in context.nodes:
        if node.op not in _PLACES:
            continue
        *scales, place = _PLACES[node.op]
        data, weight = (stored_constant(context, node.input(each)) for each in scales)
        if data is None or weight is None or data.size != 1:
            continue
        step = data.astype(np.float64).reshape(-1)[0] * weight.astype(np.float64).reshape(-1)
        for source, bias in _biases(context):
            if step.size in (1, bias.size):
                whole = np.rint(bias.astype(np.float64) / step)
                yield from _given(context, node, place, source, whole)


def _biases(context: FaultContext) -> Iterator[tuple[str, Array]]:
    for name in node_constants.floats(context.reference, context.counterparts):
        value = context.constant(context.reference, name)
        if value is not None and value.ndim == 1:
            yield repr(name), value
    yield from ((source, value) for source, value in folded(context) if value.ndim == 1)


def _given(
    context: FaultContext, node: Node, place: int, source: str, whole: Array
) -> Iterator[Patch]:
    limits = np.iinfo(np.int32)
    value, name = np.clip(whole, limits.min, limits.max).astype(np.int32), node.input(place)
    now = stored_constant(context, name) if name else None
    if now is not None:
        if now.shape == value.shape and not np.array_equal(now, value):
            words = message("PATCH.values", right=source)
            summary = message("PATCH.constant", names=repr(name), values=words)
            yield Patch(summary=summary, edits=(SetConstant(tensor=name, value=value),))
        return
    own = unused_name(context, f"{node.outputs[0]}_bias")
    yield Patch(
        summary=message("PATCH.connect_bias", bias=source, op=node.op, node=node.name),
        edits=(
            AddConstant(name=own, value=value),
            SetInput(node=node.name, index=place, tensor=own),
        ),
    )

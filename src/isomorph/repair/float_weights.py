"""The reference's float weights for a node whose own weights are quantized."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import AddConstant, Edit, KeepFloat, Patch, SetInput
from isomorph.core.stated_numbers import QUANTIZED_RESIDUE
from isomorph.match.value_match import rearrangements
from isomorph.sessions.constants import read_constant
from isomorph.sessions.dequantized_session import dequantized_value

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle


def with_weights(reference: ModelHandle, candidate: ModelHandle, node: Node) -> Patch:
    """The node kept in float, with the reference's weights in the place of its rounded ones."""
    edits: list[Edit] = []
    for place, value in _stored(candidate, node):
        better = _original(reference, value)
        if better is not None:
            name = f"{node.outputs[0]}_float_{place}"
            edits.append(AddConstant(name=name, value=better.astype(np.float32)))
            edits.append(SetInput(node=node.name, index=place, tensor=name))
    return Patch(
        summary=message("PATCH.keep_float", op=node.op, node=node.name),
        edits=(*edits, KeepFloat(node=node.name)),
    )


def _stored(candidate: ModelHandle, node: Node) -> Iterator[tuple[int, Array]]:
    """The constants of a node as real numbers, by the place of the input."""
    graph = candidate.model.graph
    grids = {each.tensor: each for each in graph.quantization}
    makers = {name: each for each in graph.nodes for name in each.outputs}
    for place, name in enumerate(node.inputs):
        maker = makers.get(name)
        dequantized = maker is not None and maker.op == "DequantizeLinear"
        fixed = maker is not None and maker.inputs[0] in graph.constants
        if (name in grids and name in graph.constants) or (dequantized and fixed):
            value = read_constant(candidate.oracle, name)
            if value is not None:
                yield place, np.asarray(dequantized_value(value, grids.get(name)), np.float64)


def _original(reference: ModelHandle, value: Array) -> Array | None:
    """The reference's constant that this one was rounded from; None where none is near."""
    best: tuple[float, Array] | None = None
    size = float(np.linalg.norm(value)) or 1.0
    for name, constant in reference.model.graph.constants.items():
        if "float" not in constant.dtype or int(np.prod(constant.shape)) != value.size:
            continue
        array = read_constant(reference.oracle, name)
        for moved in rearrangements(array, value.shape) if array is not None else ():
            array = moved.array(np.asarray(array))
            gap = float(np.linalg.norm(array - value)) / size
            if gap <= QUANTIZED_RESIDUE and (best is None or gap < best[0]):
                best = gap, array
    return None if best is None else best[1]

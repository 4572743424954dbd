"""Grids with which operators read integers, set to the writer's grid or fitted to weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetConstant
from isomorph.diagnose.node_constants import stored_constant
from isomorph.diagnose.requantize import requantized
from isomorph.fixes._neighbors import neighbors
from isomorph.match.dequantized_graph import GRID_OF_RESULT, GRIDS_READ

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.trace import Array

_WRITTEN = {**GRID_OF_RESULT, "QuantizeLinear": (1, 2)}


def writer_grids(context: FaultContext) -> Iterator[Patch]:
    """Set a scale or zero point of a reader to that of the writer of the integers."""
    makers = {name: node for node in context.candidate.nodes for name in node.outputs}
    for node in neighbors(context, depth=1):
        for tensor, *places in GRIDS_READ.get(node.op, ()):
            maker = makers.get(node.input(tensor))
            if maker is None or maker.op not in _WRITTEN:
                continue
            for cand, ref in zip(places, _WRITTEN[maker.op], strict=True):
                name, meant = node.input(cand), maker.input(ref)
                here, there = stored_constant(context, name), stored_constant(context, meant)
                if here is None or there is None or here.size != there.size:
                    continue
                better = there.reshape(here.shape)
                if not np.array_equal(here, better):
                    yield _set(
                        name,
                        better,
                        message(
                            "PATCH.same_value", op=node.op, node=node.name, name=name, right=meant
                        ),
                    )


def shifted_zeros(context: FaultContext) -> Iterator[Patch]:
    """The zero point of stored integers moved by as many steps as they are off."""
    for each in requantized(context):
        gaps = (each.cand_values - each.right) / each.steps
        shift = float(np.median(gaps))
        if not round(shift) or float(np.mean(np.abs(gaps - shift))) > 1.0:
            continue
        for node in context.candidate.nodes:
            for tensor, _, zero in GRIDS_READ.get(node.op, ()):
                name = node.input(zero)
                now = stored_constant(context, name) if node.input(tensor) == each.name else None
                if now is not None:
                    better = now.astype(np.int64) + round(shift)
                    yield _set(
                        name, better, message("PATCH.shift_zero", name=name, steps=round(shift))
                    )


def _set(name: str, value: Array, words: str) -> Patch:
    return Patch(summary=words, edits=(SetConstant(tensor=name, value=value),))

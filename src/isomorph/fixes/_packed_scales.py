"""The scales of a weight in blocks, as they follow from the reference's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.fault_context import Detail
from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetConstant
from isomorph.diagnose.packed_weights import misread_weights
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext


def packed_scales(context: FaultContext) -> Iterator[Patch]:
    """The scales under which the stored integers are a rounding of the reference's weight."""
    constants = context.candidate.constants
    for found in misread_weights(context):
        blocked = found.reading.weight
        whole, block = blocked.steps, blocked.block
        if found.reading.right is not Detail.SCALE or block <= 0 or whole.shape[-1] % block:
            continue
        scales = np.abs(whole.reshape(-1, block)[:, 0])
        readers = [
            node for node in context.candidate.nodes if blocked.weight.name in Topology.reads(node)
        ]
        for name in dict.fromkeys(name for node in readers for name in node.inputs):
            stored = constants.get(name)
            if stored is None or stored.dtype != blocked.scale_dtype:
                continue
            if int(np.prod(stored.shape)) == scales.size:
                yield Patch(
                    summary=message(
                        "PATCH.grid_of_integers", name=name, weight=blocked.weight.name
                    ),
                    edits=(SetConstant(tensor=name, value=scales.reshape(stored.shape)),),
                )

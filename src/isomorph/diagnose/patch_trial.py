"""Try a patch on the few nodes that it changes, fed with right values, in float64.

Hundreds of attribute values are tried before one is believed. What lies before the patched
nodes is computed once; only they, and what lies between them and the wrong tensor, run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.patch import AddNode, RemoveNode, SetConstant, SetQuantization
from isomorph.match.dequantized_graph import GRID_OF_RESULT, implicit_grids, result_grids
from isomorph.match.tensor_capture import TensorCapture
from isomorph.oracle.dtypes import numeric
from isomorph.sessions.dequantized_session import dequantized_value, quantized_feeds

if TYPE_CHECKING:
    from isomorph.core.model import Node, Quantization
    from isomorph.core.patch import Patch
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle


class PatchTrial:
    """Evaluates patches at one fault of the candidate, with earlier faults corrected."""

    def __init__(
        self,
        candidate: ModelHandle,
        capture: TensorCapture,
        nodes: Sequence[Node],
        earlier: Mapping[str, Array],
    ) -> None:
        self._candidate, self._capture, self._earlier = candidate, capture, dict(earlier)
        self._nodes = {node.name for node in nodes}
        self._grids = implicit_grids(capture.graph)
        self._computed = {} if self._grids else result_grids(capture.graph)
        self._values: Mapping[str, Array] | None = None

    def values(self) -> Mapping[str, Array]:
        """Every tensor of the candidate, with earlier faults corrected."""
        if self._values is None:
            self._values = self._capture.with_given(self._earlier)
        return self._values

    def run(
        self, patch: Patch, fetch: Sequence[str], others: Mapping[str, Array] | None = None
    ) -> dict[str, Array] | None:
        """These tensors of the patched model; None where it cannot be computed at all."""
        feeds = {**self._capture.feeds, **self._boundary(patch), **(others or {})}
        feeds = quantized_feeds(feeds, self._computed)  # operators on integers read those
        stand_in = {name: self._standing_in(name, patch) for name in fetch}
        fetched = list(dict.fromkeys(stand_in.values()))
        try:
            found = self._candidate.host.rehearse(self._candidate.model, patch, feeds, fetched)
        except (IsomorphError, ValueError):
            return None  # a patch that does not even run is no repair
        if not all(numeric(found[name]) for name in fetched):
            return None
        values = {name: dequantized_value(found[name], self._grid(name, patch)) for name in fetched}
        return {name: np.asarray(values[other]) for name, other in stand_in.items()}

    def _grid(self, tensor: str, patch: Patch) -> Quantization | None:
        """The grid of a tensor in the patched model, where no node shows its real numbers."""
        grid = self._grids.get(tensor)
        if tensor in self._computed:
            return self._result_grid(tensor, patch)
        for edit in patch.edits:
            if grid is not None and isinstance(edit, SetQuantization) and edit.tensor == tensor:
                grid = replace(grid, scale=edit.scale, zero_point=edit.zero_point, axis=edit.axis)
        return grid

    def _result_grid(self, tensor: str, patch: Patch) -> Quantization:
        """The grid of the result of an operator on integers, as its inputs state it."""
        grid, maker = self._computed[tensor], self._capture.topology.maker[tensor]
        places = GRID_OF_RESULT[maker.op]
        scale, zero = (maker.input(place) for place in places)
        for edit in patch.edits:
            if isinstance(edit, SetConstant) and edit.tensor in {scale, zero}:
                flat = np.asarray(edit.value).reshape(-1)
                grid = (
                    replace(grid, scale=tuple(float(each) for each in flat))
                    if edit.tensor == scale
                    else replace(grid, zero_point=tuple(int(each) for each in flat))
                )
        return grid

    def _standing_in(self, tensor: str, patch: Patch) -> str:
        """What the readers of a tensor get if its maker is taken out."""
        removed = {edit.node for edit in patch.edits if isinstance(edit, RemoveNode)}
        outputs = {spec.name for spec in self._capture.graph.outputs}
        maker = self._capture.topology.maker.get(tensor)
        while maker is not None and maker.name in removed and tensor not in outputs:
            tensor = maker.inputs[0]
            maker = self._capture.topology.maker.get(tensor)
        return tensor

    def _boundary(self, patch: Patch) -> dict[str, Array]:
        """The values that go into the patched nodes and do not themselves depend on them."""
        topology, values = self._capture.topology, self.values()
        touched = self._nodes | set(patch.nodes)
        touched |= {topology.maker[name].name for name in patch.tensors if name in topology.maker}
        stored = {name for name in patch.tensors if name not in topology.maker}
        nodes = [
            node
            for node in self._capture.graph.nodes
            if node.name in touched or stored.intersection(node.inputs)
        ]
        outputs = {name for node in nodes for name in node.outputs if name}
        after = topology.below(outputs) | outputs
        read = [name for node in nodes for name in topology.sources(node)]
        gone = self._left_out(patch)
        return {
            name: values[name]
            for name in (*read, *patch.reads)
            if name in values and name not in after and name not in gone
        }

    def _left_out(self, patch: Patch) -> set[str]:
        """Tensors that only replaced nodes read: these and their makers are left out."""
        added = {name: edit for edit in patch.edits if isinstance(edit, AddNode)
                 for name in edit.outputs}  # fmt: skip
        if not added:
            return set()
        topology = self._capture.topology
        waiting = [spec.name for spec in self._capture.graph.outputs]
        read: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in read:
                continue
            read.add(name)
            maker = added.get(name) or topology.maker.get(name)
            if isinstance(maker, AddNode):
                waiting += maker.inputs
            elif maker is not None:
                waiting += topology.reads(maker)
        return set(topology.maker) - read

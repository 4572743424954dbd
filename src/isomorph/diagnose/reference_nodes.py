"""The reference's own nodes in the place of guilty ones: a fusion undone, a lost node put back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import ORIGINAL_NODES
from isomorph.core.patch import AddConstant, AddNode, Edit, Patch
from isomorph.diagnose.parameters import dtype_of, fresh
from isomorph.match.topology import Topology
from isomorph.measure.precision import quantized

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_FEW = 4
"""So many may be all that a model has."""


def original_nodes(case: FaultContext) -> Iterator[Patch]:
    """One patch that lets the reference's nodes make the wrong tensor, where they can be copied.

    Between models of one framework only. A quantized candidate would lose what it is made for.
    """
    if not case.same_framework or not case.counterparts or quantized(case.candidate):
        return
    found = _Copy(case).edits()
    if found is None:
        return
    names = " + ".join(dict.fromkeys(edit.op for edit in found if isinstance(edit, AddNode)))
    yield Patch(
        summary=f"{case.tensor!r} is made by the reference's {names} instead of "
        f"{case.node.op} {case.node.name!r}",
        edits=tuple(found),
    )


class _Copy:
    """The reference's nodes before one tensor, as far back as the candidate has their inputs."""

    def __init__(self, case: FaultContext) -> None:
        self.case, self.topology = case, Topology(case.reference)
        self.made: dict[str, str] = {}
        self.nodes: dict[str, Node] = {}
        self.constants: dict[str, AddConstant] = {}

    def edits(self) -> list[Edit] | None:
        """The constants and nodes to add; None where something cannot be copied."""
        last = self.case.counterparts[-1]
        target = next((name for name in last.outputs if self._is_right(name)), None)
        if target is None or not self._collected(last):
            return None
        order = [node for node in self.case.reference.nodes if node.name in self.nodes]
        total = sum(bool(self.topology.sources(node)) for node in self.case.reference.nodes)
        if len(order) > _FEW and len(order) >= total:
            return None  # that would be the reference itself
        self.made[target] = self.case.tensor
        return [*self.constants.values(), *(self._copied(node) for node in order)]

    def _is_right(self, name: str) -> bool:
        value = self.case.value(self.case.reference, name)
        return value is not None and self.case.equals(value)

    def _collected(self, last: Node) -> bool:
        """Walk back from a node to tensors that the candidate holds; False where that fails."""
        open_ends = [last]
        while open_ends:
            node = open_ends.pop()
            if node.name in self.nodes:
                continue
            if node.bodies:
                return False
            if len(self.nodes) == ORIGINAL_NODES.most:
                ORIGINAL_NODES.reached()
                return False
            self.nodes[node.name] = node
            for output in filter(None, node.outputs):
                self.made[output] = fresh(self.case, f"{output}_original")
            for name in filter(None, node.inputs):
                if name not in self.made and not self._held(name):
                    maker = self.topology.maker.get(name)
                    if maker is None or name not in self.topology.live:
                        return False
                    open_ends.append(maker)
        return True

    def _held(self, name: str) -> bool:
        """Whether a tensor of the reference can be read in the candidate, or be stored there."""
        case = self.case
        if name not in self.topology.live:
            return self._stored(name)
        if any(name in node.outputs for node in case.counterparts):
            return False  # what may be wrong here is made anew
        twin = case.twin(name)
        if twin is None:
            return False
        left, right = case.value(case.reference, name), case.value(case.candidate, twin)
        if left is None or right is None or left.shape != right.shape:
            return False
        self.made[name] = twin
        return True

    def _stored(self, name: str) -> bool:
        value = self.case.constant(self.case.reference, name)
        kind = self._kind(name)
        if value is None or kind is None:
            return False
        with np.errstate(all="ignore"):
            value = np.asarray(value).astype(kind)
        self.made[name] = self._same_here(name, value) or fresh(self.case, f"{name}_original")
        if self.made[name] not in self.case.candidate.constants:
            self.constants[name] = AddConstant(name=self.made[name], value=value)
        return True

    def _kind(self, name: str) -> np.dtype[np.generic] | None:
        """The type of a constant here: floats in the width of the tensor that is put right."""
        held, spec = (
            self.case.reference.constants.get(name),
            self.case.reference.tensors.get(name),
        )
        word = held.dtype if held is not None else (spec.dtype if spec is not None else None)
        try:
            kind = np.dtype(word) if word else None
        except TypeError:
            return None
        own = dtype_of(self.case, self.case.tensor)
        both = kind is not None and own is not None and kind.kind == own.kind == "f"
        return own if both else kind

    def _same_here(self, name: str, value: Array) -> str | None:
        """The candidate's constant of this value and type, under the same name if it can be."""
        constants = self.case.candidate.constants
        held = self.case.reference.constants.get(name)
        if held is None:
            return None
        alike = [
            other
            for other, each in constants.items()
            if each.dtype == value.dtype.name
            and each.shape == value.shape
            and each.value_digest == held.value_digest
        ]
        return name if name in alike else next(iter(alike), None)

    def _copied(self, node: Node) -> AddNode:
        return AddNode(
            name=fresh(self.case, f"{node.name}_original"),
            op=node.native_op,
            inputs=tuple(self.made[name] if name else "" for name in node.inputs),
            outputs=tuple(self.made[name] if name else "" for name in node.outputs),
            attributes={k: v for k, v in node.attributes.items() if v is not None},
        )

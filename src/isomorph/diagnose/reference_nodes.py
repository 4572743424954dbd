"""Copy the reference's nodes in place of faulty ones: undo a fusion, restore a lost node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.onnx_nodes import OnnxNodes
from isomorph.core.patch import AddConstant, AddNode, Edit, Patch
from isomorph.core.repair_limits import ORIGINAL_NODES
from isomorph.core.stated_numbers import WHOLE_MODEL_NODES
from isomorph.diagnose.parameters import dtype_of, unused_name
from isomorph.match.topology import Topology
from isomorph.measure.precision import quantized
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array


def original_nodes(context: FaultContext) -> Iterator[Patch]:
    """One patch that lets the reference's nodes make the wrong tensor, where they can be copied.

    Between models of one framework, or into ONNX from a framework that spells its operators in
    ONNX's. A quantized candidate would lose what it is made for.
    """
    into_onnx = operator_tables(context.candidate.framework).takes_onnx
    if not (context.same_framework or into_onnx):
        return
    if not context.counterparts or quantized(context.candidate):
        return
    found = _Copy(context).edits()
    if found is None:
        return
    names = " + ".join(dict.fromkeys(edit.op for edit in found if isinstance(edit, AddNode)))
    yield Patch(
        summary=message(
            "PATCH.reference_nodes",
            tensor=context.tensor,
            parts=names,
            op=context.node.op,
            node=context.node.name,
        ),
        edits=tuple(found),
    )


class _Copy:
    """The reference's nodes before one tensor, as far back as the candidate has their inputs."""

    def __init__(self, context: FaultContext) -> None:
        self.context, self.topology = context, Topology(context.reference)
        self.made: dict[str, str] = {}
        self.nodes: dict[str, Node] = {}
        self.constants: dict[str, AddConstant] = {}

    def edits(self) -> list[Edit] | None:
        """The constants and nodes to add; None where something cannot be copied."""
        last = self.context.counterparts[-1]
        target = next((name for name in last.outputs if self._is_right(name)), None)
        if target is None or not self._collected(last):
            return None
        order = [node for node in self.context.reference.nodes if node.name in self.nodes]
        total = sum(bool(self.topology.sources(node)) for node in self.context.reference.nodes)
        if len(order) > WHOLE_MODEL_NODES and len(order) >= total:
            return None  # that would be the reference itself
        self.made[target] = self.context.tensor
        copied = self._copied(order)
        return None if copied is None else [*self.constants.values(), *copied]

    def _is_right(self, name: str) -> bool:
        value = self.context.value(self.context.reference, name)
        return value is not None and self.context.equals(value)

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
                self.made[output] = unused_name(self.context, f"{output}_original")
            for name in filter(None, node.inputs):
                if name not in self.made and not self._is_available(name):
                    maker = self.topology.maker.get(name)
                    if maker is None or name not in self.topology.live:
                        return False
                    open_ends.append(maker)
        return True

    def _is_available(self, name: str) -> bool:
        """Whether a tensor of the reference can be read in the candidate, or be stored there."""
        context = self.context
        if name not in self.topology.live:
            return self._stored(name)
        if any(name in node.outputs for node in context.counterparts):
            return False  # what may be wrong here is made anew
        matched = context.matching_tensor(name)
        if matched is None:
            return False
        left, right = (
            context.value(context.reference, name),
            context.value(context.candidate, matched),
        )
        if left is None or right is None or left.shape != right.shape:
            return False
        self.made[name] = matched
        return True

    def _stored(self, name: str) -> bool:
        value = self.context.constant(self.context.reference, name)
        kind = self._kind(name)
        if value is None or kind is None:
            return False
        with np.errstate(all="ignore"):
            value = np.asarray(value).astype(kind)
        self.made[name] = self._same_here(name, value) or unused_name(
            self.context, f"{name}_original"
        )
        if self.made[name] not in self.context.candidate.constants:
            self.constants[name] = AddConstant(name=self.made[name], value=value)
        return True

    def _kind(self, name: str) -> np.dtype[np.generic] | None:
        """The type of a constant here: floats in the width of the tensor that is put right."""
        constant, spec = (
            self.context.reference.constants.get(name),
            self.context.reference.tensors.get(name),
        )
        word = (
            constant.dtype if constant is not None else (spec.dtype if spec is not None else None)
        )
        try:
            kind = np.dtype(word) if word else None
        except TypeError:
            return None
        own = dtype_of(self.context, self.context.tensor)
        both = kind is not None and own is not None and kind.kind == own.kind == "f"
        return own if both else kind

    def _same_here(self, name: str, value: Array) -> str | None:
        """The candidate's constant of this value and type, under the same name if it can be."""
        constants = self.context.candidate.constants
        constant = self.context.reference.constants.get(name)
        if constant is None:
            return None
        equal_constants = [
            other
            for other, each in constants.items()
            if each.dtype == value.dtype.name
            and each.shape == value.shape
            and each.value_digest == constant.value_digest
        ]
        return name if name in equal_constants else next(iter(equal_constants), None)

    def _copied(self, nodes: Sequence[Node]) -> list[Edit] | None:
        """The nodes in the candidate's operators; None where one of them cannot be spelled."""
        if self.context.same_framework:
            return [self._same(node) for node in nodes]
        kind = dtype_of(self.context, self.context.tensor)
        if kind is None or kind.kind != "f":
            return None
        into = OnnxNodes(self.made, self._shape, partial(unused_name, self.context), kind)
        spell = operator_tables(self.context.reference.framework).in_onnx
        return into.edits if all(spell(node, into.of(node.name)) for node in nodes) else None

    def _shape(self, name: str) -> tuple[int, ...] | None:
        value = self.context.value(self.context.reference, name)
        return None if value is None else value.shape

    def _same(self, node: Node) -> AddNode:
        return AddNode(
            name=unused_name(self.context, f"{node.name}_original"),
            op=node.native_op,
            inputs=tuple(self.made[name] if name else "" for name in node.inputs),
            outputs=tuple(self.made[name] if name else "" for name in node.outputs),
            attributes={k: v for k, v in node.attributes.items() if v is not None},
        )

"""A patch applied to a copy of a TensorFlow program. The program itself is never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from isomorph.core import patch as edits
from isomorph.core.editing import EditDispatcher, applies, named, not_possible, unknown_name
from isomorph.core.errors import UsageError
from isomorph.frameworks.tensorflow.attributes import attributes_of
from isomorph.frameworks.tensorflow.neutral_attributes import kept_in
from isomorph.frameworks.tensorflow.program import (
    TfNode,
    TfProgram,
    needed,
    part_of,
    place_of,
    read_nodes,
    tensor_name,
)

# Operators whose only attribute is the type they compute in, by their neutral names.
_PLAIN = {
    "Add": "AddV2", "Sub": "Sub", "Mul": "Mul", "Div": "RealDiv", "Max": "Maximum",
    "Min": "Minimum", "Relu": "Relu", "Sigmoid": "Sigmoid", "Tanh": "Tanh", "Abs": "Abs",
    "Neg": "Neg", "Exp": "Exp", "Log": "Log", "Sqrt": "Sqrt", "Erf": "Erf", "Softplus": "Softplus",
    "Softsign": "Softsign", "Floor": "Floor", "Ceil": "Ceil", "Round": "Round", "Sign": "Sign",
    "Sin": "Sin", "Cos": "Cos", "Softmax": "Softmax", "LogSoftmax": "LogSoftmax",
}  # fmt: skip


class Editor(EditDispatcher):
    """One program as changed so far: nodes and constants by name, everything else shared."""

    edited = "a TensorFlow graph"

    def __init__(self, program: TfProgram) -> None:
        self.program = program
        self.nodes = {node.name: node for node in program.nodes}
        self.constants = dict(program.constants)
        self.specs = dict(program.specs)

    def apply(self, wanted: Iterable[edits.Edit]) -> TfProgram:
        """The program with these edits; its own message is written only by ``graph_def``."""
        for edit in wanted:
            self.apply_edit(edit)
        return replace(
            self.program,
            nodes=_sorted(self.nodes.values(), self.program),
            constants=self.constants,
            specs=self.specs,
        )

    def _node(self, name: str) -> TfNode:
        return named(self.nodes, "node", name)

    @applies(edits.SetAttribute)
    def _set_attribute(self, edit: edits.SetAttribute) -> None:
        node = self._node(edit.node)
        native, tensor = (edit.name, None) if edit.name in node.attributes else kept_in(
            node, edit.name
        )  # fmt: skip
        if tensor is not None and tensor in self.constants:
            old = self.constants[tensor]
            self._set_constant(edits.SetConstant(tensor=tensor, value=np.asarray(edit.value)))
            if self.constants[tensor].size != old.size and old.ndim != 1:
                raise not_possible(f"{edit.name} of {edit.node!r} takes {old.size} numbers")
            return
        if native is None or native not in node.attributes:
            raise not_possible(f"node {edit.node!r} ({node.op}) has no attribute {edit.name!r}")
        definition = _copied(node.definition)
        _tell(definition.attr[native], node.attributes[native], edit.value)
        self._put(node, definition)

    def _put(self, node: TfNode, definition: Any) -> None:  # noqa: ANN401
        self.nodes[node.name] = replace(
            node,
            op=definition.op,
            inputs=tuple(tensor_name(each) for each in definition.input),
            attributes=attributes_of(definition),
            definition=definition,
        )

    @applies(edits.SetConstant)
    def _set_constant(self, edit: edits.SetConstant) -> None:
        old = self.constants.get(edit.tensor)
        if old is None:
            raise unknown_name("constant", edit.tensor)
        value = np.asarray(edit.value)
        with np.errstate(over="ignore", invalid="ignore"):
            value = value.astype(old.dtype)
        self.constants[edit.tensor] = value.reshape(old.shape) if value.size == old.size else value

    @applies(edits.AddConstant)
    def _add_constant(self, edit: edits.AddConstant) -> None:
        self._refuse_taken(edit.name)
        self.constants[edit.name] = np.asarray(edit.value)

    @applies(edits.SetInput)
    def _set_input(self, edit: edits.SetInput) -> None:
        node = self._node(edit.node)
        definition = _copied(node.definition)
        if edit.index >= len(definition.input) or not edit.tensor:
            raise not_possible(f"node {edit.node!r} ({node.op}) has no input {edit.index} to set")
        definition.input[edit.index] = edit.tensor
        self._put(node, definition)

    @applies(edits.SetOp)
    def _set_op(self, edit: edits.SetOp) -> None:
        node = self._node(edit.node)
        if edit.op not in _PLAIN or set(node.definition.attr) - {"T", "_output_shapes"}:
            raise not_possible(f"{node.op} {edit.node!r} cannot become {edit.op}")
        definition = _copied(node.definition)
        definition.op = _PLAIN[edit.op]
        self._put(node, definition)

    @applies(edits.RemoveNode)
    def _remove_node(self, edit: edits.RemoveNode) -> None:
        node = self._node(edit.node)
        if node.name in self._signature() or len(node.outputs) != 1 or not node.inputs:
            raise not_possible(f"node {edit.node!r} cannot be taken out of a TensorFlow graph")
        del self.nodes[node.name]
        self._redirect(node.name, node.inputs[0])

    def _redirect(self, old: str, new: str, but: str = "") -> None:
        for node in list(self.nodes.values()):
            if old in node.inputs and node.name != but:
                definition = _copied(node.definition)
                for place, name in enumerate(definition.input):
                    if tensor_name(name) == old:
                        definition.input[place] = new
                self._put(node, definition)

    @applies(edits.InsertBehind)
    def _insert_behind(self, edit: edits.InsertBehind) -> None:
        maker = self.nodes.get(edit.tensor)
        if maker is None or edit.tensor in self._signature():
            raise not_possible(f"nothing can be put behind {edit.tensor!r}")
        self._new(edit.name, edit.op, [each or edit.tensor for each in edit.inputs], edit.tensor)
        self._redirect(edit.tensor, edit.name, but=edit.name)

    @applies(edits.InsertAhead)
    def _insert_ahead(self, edit: edits.InsertAhead) -> None:
        before = self._node(edit.node).inputs[edit.index]
        self._new(edit.name, edit.op, [each or before for each in edit.inputs], before)
        self._set_input(edits.SetInput(node=edit.node, index=edit.index, tensor=edit.name))

    def _new(self, name: str, op: str, reads: list[str], like: str) -> None:
        self._refuse_taken(name)
        spec = self.specs.get(like)
        if op not in _PLAIN or spec is None or spec.dtype is None:
            raise not_possible(f"operator {op} cannot be put into a TensorFlow graph")
        definition = tf.compat.v1.NodeDef(name=name, op=_PLAIN[op], input=reads)
        definition.attr["T"].type = tf.dtypes.as_dtype(spec.dtype).as_datatype_enum
        self.nodes[name] = TfNode(
            name=name,
            op=definition.op,
            inputs=tuple(reads),
            outputs=(name,),
            attributes=attributes_of(definition),
            definition=definition,
        )
        self.specs[name] = spec

    def _refuse_taken(self, name: str) -> None:
        if name in self.nodes or name in self.constants:
            raise UsageError("PATCH_NAME_TAKEN", f"the model already has a node named {name!r}")

    def _signature(self) -> set[str]:
        return {port.tensor for port in (*self.program.inputs, *self.program.outputs)}


def graph_def(program: TfProgram) -> Any:  # noqa: ANN401
    """TensorFlow's own message of an edited program, without what no output needs any more."""
    whole = tf.compat.v1.GraphDef()
    whole.versions.CopyFrom(program.graph_def.versions)
    whole.library.CopyFrom(program.graph_def.library)
    whole.node.extend(each for each in program.graph_def.node if each.op == "Placeholder")
    for name, value in program.constants.items():
        whole.node.append(constant_def(name, value))
    whole.node.extend(node.definition for node in program.nodes)
    outputs = [port.tensor for port in program.outputs]
    inputs = {place_of(port.tensor)[0] for port in program.inputs}
    return part_of(whole, needed(whole, outputs) | inputs)


def constant_def(name: str, value: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401
    """A stored value as a node."""
    definition = tf.compat.v1.NodeDef(name=name, op="Const")
    proto = tf.make_tensor_proto(value)
    definition.attr["value"].tensor.CopyFrom(proto)
    definition.attr["dtype"].type = proto.dtype
    return definition


def _sorted(nodes: Iterable[TfNode], program: TfProgram) -> tuple[TfNode, ...]:
    """Each after what it reads, by TensorFlow's own message without its weights."""
    own = {node.name: node for node in nodes}
    frame = tf.compat.v1.GraphDef(node=[node.definition for node in own.values()])
    known = set(own)
    for name in {place_of(name)[0] for node in own.values() for name in node.inputs} - known:
        frame.node.add(name=name, op="Placeholder")
    outputs = [port.tensor for port in program.outputs if place_of(port.tensor)[0] in known]
    return tuple(own[node.name] for node in read_nodes(frame, outputs))


def _copied(definition: Any) -> Any:  # noqa: ANN401
    copy = tf.compat.v1.NodeDef()
    copy.CopyFrom(definition)
    return copy


def _tell(attribute: Any, now: Any, value: Any) -> None:  # noqa: ANN401
    """Write a value as what the attribute is: a word, a flag, a number, or several of them."""
    if isinstance(now, tuple):
        items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        if not all(isinstance(each, int) for each in (*now, *items)) or not now:
            raise not_possible("only lists of whole numbers can be set")
        attribute.list.i[:] = items
    elif isinstance(now, bool):
        attribute.b = bool(value)
    elif isinstance(now, int) and float(value).is_integer():
        attribute.i = int(value)
    elif isinstance(now, float) and isinstance(value, (int, float)):
        attribute.f = float(value)
    elif (
        isinstance(now, str) and isinstance(value, str) and attribute.WhichOneof("value") != "type"
    ):
        attribute.s = value.encode()
    else:
        raise not_possible(f"the value {value!r} does not fit in the place of {now!r}")


def changed(
    before: TfProgram, after: TfProgram
) -> tuple[Mapping[str, np.ndarray[Any, Any]], Mapping[str, TfNode]]:
    """The constants and the nodes that another program holds otherwise, with their new values."""
    constants = {
        name: value
        for name, value in after.constants.items()
        if before.constants.get(name) is not value
    }
    old = {node.name: node for node in before.nodes}
    nodes = {node.name: node for node in after.nodes if old.get(node.name) is not node}
    return constants, nodes

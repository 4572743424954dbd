"""A patch applied to a copy of an OpenVINO model. The model itself is never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core import patch as edits
from isomorph.core.editing import EditDispatcher, applies, named
from isomorph.core.errors import UsageError
from isomorph.core.untrusted_xml import Element
from isomorph.frameworks.openvino.nodes import IrNode, nodes_of
from isomorph.frameworks.openvino.op_table import OPERATORS, Operator
from isomorph.frameworks.openvino.program import NATIVE
from isomorph.frameworks.openvino.read import read_tree
from isomorph.frameworks.openvino.xml_graph import Place, XmlGraph
from isomorph.oracle.dtypes import is_float, numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.trace import Array
    from isomorph.frameworks.openvino.program import IrModel, Layer

_WRITTEN: Mapping[str, tuple[str, str]] = {
    name.partition("=")[2] or name.partition("=")[0]: (name.partition("=")[0], version)
    for version, names in {
        "opset1": "Sigmoid Tanh Abs Exp Log Sqrt Erf Floor Sign Sin Cos Atan Elu ReLU=Relu "
        "Negative=Neg Ceiling=Ceil LogicalNot=Not Clamp=Clip Add Subtract=Sub Multiply=Mul "
        "Divide=Div Maximum=Max Minimum=Min Power=Pow SquaredDifference ReduceMean ReduceSum "
        "ReduceMax ReduceMin",
        "opset4": "SoftPlus=Softplus HSwish=HardSwish Mish",
        "opset5": "HSigmoid=HardSigmoid LogSoftmax",
        "opset7": "Gelu",
        "opset8": "Softmax",
        "opset9": "SoftSign=Softsign",
    }.items()
    for name in names.split()
}
"""The operators that a patch may write, by their neutral names: the file's names and versions."""
_OF_TWO = frozenset({"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "SquaredDifference"})


def patched(model: IrModel, patch: Patch) -> IrModel:
    """A copy with the patch applied; it passes the checks of any model that is read."""
    editor = Editor(model)
    for edit in patch.edits:
        editor.apply_edit(edit)
    file = str(model.path or "the patched model")
    made = read_tree(editor.made.root, bytes(editor.made.weights), file=file)
    return replace(made, path=model.path)


class Editor(EditDispatcher):
    """Knows the layers of one copied graph by the names of the description."""

    edited = "an OpenVINO model"

    def __init__(self, model: IrModel) -> None:
        self.model, self.made = model, XmlGraph(model.root.copied(), model.weights)
        self._nodes = {node.name: node for node in nodes_of(model.graph)}
        self._makers: dict[str, Place] = {
            port.name: (layer.id, port.id) for layer in model.graph.layers for port in layer.outputs
        }

    def _node(self, name: str) -> IrNode:
        return named(self._nodes, "node", name)

    def _maker(self, tensor: str) -> Place:
        return named(self._makers, "tensor", tensor)

    @applies(edits.SetAttribute)
    def _set_attribute(self, edit: edits.SetAttribute) -> None:
        node = self._node(edit.node)
        element = self.made.elements[node.layer.id]
        known = OPERATORS.get(element.attributes["type"], Operator(""))
        field = next((each for each in known.fields if each.name == edit.name), None)
        if field is None or edit.value is None or node.dequantizes:
            raise UsageError("PATCH_OPTION", f"node {edit.node!r} has no option {edit.name!r}")
        data = element.first("data")
        if data is None:
            data = Element("data")
            element.children.insert(0, data)
        data.attributes |= field.written(edit.value)

    @applies(edits.SetConstant)
    def _set_constant(self, edit: edits.SetConstant) -> None:
        layer = named(self.model.graph.stored, "constant", edit.tensor)
        value = _as_stored(np.asarray(edit.value), layer)
        self.made.fill(layer.id, value, str(layer.outputs[0].dtype))

    @applies(edits.AddConstant)
    def _add_constant(self, edit: edits.AddConstant) -> None:
        value = np.asarray(edit.value)
        if value.dtype.name not in NATIVE:
            raise UsageError("PATCH_DTYPE", f"a constant cannot be of type {value.dtype.name}")
        self._refuse_taken(edit.name)
        self._makers[edit.name] = self.made.constant(edit.name, value, value.dtype.name), 0

    @applies(edits.SetInput)
    def _set_input(self, edit: edits.SetInput) -> None:
        node = self._node(edit.node)
        if node.dequantizes or edit.index >= len(node.layer.ports):
            raise UsageError("PATCH_NOT_POSSIBLE", f"node {edit.node!r} has no input {edit.index}")
        end = node.layer.id, node.layer.ports[edit.index]
        self.made.connect(self._maker(edit.tensor), end)

    @applies(edits.SetOp)
    def _set_op(self, edit: edits.SetOp) -> None:
        node = self._node(edit.node)
        kind, data = _spelled(edit.op, edit.attributes)
        element = self.made.elements[node.layer.id]
        before, after = (OPERATORS[each].op for each in (element.attributes["type"], kind[0]))
        alike = {before, after} <= _OF_TWO or all(op.startswith("Reduce") for op in (before, after))
        if node.dequantizes or (len(node.inputs) > 1 and not alike):
            raise UsageError("PATCH_OPERATOR", f"{before} cannot become {after} in this format")
        element.attributes |= {"type": kind[0], "version": kind[1]}
        kept = element.first("data")
        if alike and kept is not None:
            return
        element.children = [each for each in element.children if each.tag != "data"]
        if data:
            element.children.insert(0, Element("data", data))

    @applies(edits.RemoveNode)
    def _remove_node(self, edit: edits.RemoveNode) -> None:
        node = self._node(edit.node)
        for port in node.outputs:
            self.made.move(self._maker(port.name), self._maker(node.inputs[0]))
        self.made.remove(node.layer.id)

    @applies(edits.InsertBehind)
    def _insert_behind(self, edit: edits.InsertBehind) -> None:
        before = self._maker(edit.tensor)
        made = self._insert(edit, edit.tensor)
        readers = self.made.move(before, made)
        for place, name in enumerate(edit.inputs):
            if name in {"", edit.tensor}:
                self.made.connect(before, (made[0], place))
        names = self.made.output(before).attributes
        if "Result" in readers and "names" in names:
            # Callers know an output by the names of the port that its result reads.
            self.made.output(made).attributes["names"] = names.pop("names")

    @applies(edits.InsertAhead)
    def _insert_ahead(self, edit: edits.InsertAhead) -> None:
        node = self._node(edit.node)
        if node.dequantizes:
            raise UsageError("PATCH_NOT_POSSIBLE", f"nothing can be put before {edit.node!r}")
        before = node.inputs[edit.index]
        self._insert(edit, before)
        self.made.connect(self._maker(edit.name), (node.layer.id, node.layer.ports[edit.index]))

    def _insert(self, edit: edits.InsertBehind | edits.InsertAhead, before: str) -> Place:
        """A new layer that reads ``before`` where an input is left open; where its output is."""
        kind, data = _spelled(edit.op, edit.attributes)
        self._refuse_taken(edit.name)
        like = self.made.output(self._maker(before))
        ports = [like.copied() for _ in range(len(edit.inputs) + 1)]
        for place, port in enumerate(ports):
            port.attributes["id"] = str(place)
        ports[-1].attributes.pop("names", None)
        key = self.made.add(edit.name, kind, data, inputs=ports[:-1], outputs=ports[-1:])
        for place, name in enumerate(edit.inputs):
            self.made.connect(self._maker(name or before), (key, place))
        self._makers[edit.name] = key, len(edit.inputs)
        return self._makers[edit.name]

    def _refuse_taken(self, name: str) -> None:
        if name in self._makers or name in self._nodes:
            raise UsageError("PATCH_NAME_TAKEN", f"there is a {name!r} already")


def _spelled(op: str, attributes: Mapping[str, Any]) -> tuple[tuple[str, str], dict[str, str]]:
    """The file's name and version of an operator, and its attributes there."""
    if op not in _WRITTEN:
        raise UsageError("PATCH_OPERATOR", f"no {op} is written into an OpenVINO model")
    kind = _WRITTEN[op]
    known = OPERATORS[kind[0]]
    fixed = known.fixed or {}
    data = {"auto_broadcast": "numpy"} if op in _OF_TWO else {}
    fields = {field.name: field for field in known.fields}
    for field in known.fields:
        if field.otherwise is not None:
            data |= field.written(field.otherwise)
    for name, value in attributes.items():
        if name in fixed and np.isclose(fixed[name], value):
            continue
        if name not in fields:
            raise UsageError("PATCH_OPTION", f"{op} has no option {name!r} in this format")
        data |= fields[name].written(value)
    return kind, data


def _as_stored(value: Array, layer: Layer) -> Array:
    """New values in the type of a constant; a type that cannot hold them is refused."""
    dtype = str(layer.outputs[0].dtype)
    with np.errstate(all="ignore"):
        narrow = value.astype(numpy_dtype(dtype))
    if not is_float(dtype) and not np.array_equal(narrow.astype(value.dtype), value):
        raise UsageError(
            "PATCH_DTYPE", f"constant {layer.name!r} is {dtype} and holds no such numbers"
        )
    return narrow

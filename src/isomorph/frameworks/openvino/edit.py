"""A patch applied to a copy of an OpenVINO model. The model itself is never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core import patch as edits
from isomorph.core.editing import EditDispatcher, applies, unknown_name
from isomorph.core.errors import UsageError
from isomorph.core.untrusted_xml import TEXT, Element
from isomorph.frameworks.openvino.nodes import IrNode, nodes_of
from isomorph.frameworks.openvino.op_table import OPERATORS, Operator
from isomorph.frameworks.openvino.program import NATIVE
from isomorph.frameworks.openvino.read import read_tree
from isomorph.frameworks.openvino.weights import array_of
from isomorph.kernels.packed_storage import encoded
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
    made = read_tree(editor.root, bytes(editor.weights), file=file)
    return replace(made, path=model.path)


class Editor(EditDispatcher):
    """Knows the layers of one copied graph by the names of the description."""

    edited = "an OpenVINO model"

    def __init__(self, model: IrModel) -> None:
        self.model, self.root = model, model.root.copied()
        self.weights = bytearray(model.weights)
        self._listed = self._part("layers")
        self._edges = self._part("edges")
        self._elements = {int(e.attributes["id"]): e for e in self._listed.each("layer")}
        self._nodes = {node.name: node for node in nodes_of(model.graph)}
        self._makers: dict[str, tuple[int, int]] = {
            port.name: (layer.id, port.id) for layer in model.graph.layers for port in layer.outputs
        }
        self._constants = {layer.outputs[0].name: layer for layer in model.graph.constants}

    def _part(self, tag: str) -> Element:
        found = self.root.first(tag)
        if found is None:
            found = Element(tag)
            self.root.children.append(found)
        return found

    def _node(self, name: str) -> IrNode:
        if name not in self._nodes:
            raise unknown_name("node", name)
        return self._nodes[name]

    def _maker(self, tensor: str) -> tuple[int, int]:
        if tensor not in self._makers:
            raise unknown_name("tensor", tensor)
        return self._makers[tensor]

    @applies(edits.SetAttribute)
    def _set_attribute(self, edit: edits.SetAttribute) -> None:
        node = self._node(edit.node)
        element = self._elements[node.layer.id]
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
        layer = self._constants.get(edit.tensor)
        if layer is None or layer.stored is None:
            raise unknown_name("constant", edit.tensor)
        value = _as_stored(np.asarray(edit.value), layer, self.model)
        self._store(self._elements[layer.id], value, layer.stored.dtype)

    @applies(edits.AddConstant)
    def _add_constant(self, edit: edits.AddConstant) -> None:
        value = np.asarray(edit.value)
        native = NATIVE.get(value.dtype.name)
        if native is None:
            raise UsageError("PATCH_DTYPE", f"a constant cannot be of type {value.dtype.name}")
        element = self._new_layer(edit.name, ("Const", "opset1"), {"element_type": native})
        self._store(element, value, value.dtype.name)
        self._output(element, edit.name, native.upper(), value.shape)

    def _store(self, element: Element, value: Array, dtype: str) -> None:
        """Values of any shape behind all that is stored; what they replace stays unused."""
        data = element.first("data")
        assert data is not None, "a constant states where it lies"
        raw = encoded(value, dtype)
        self.weights += bytes(-len(self.weights) % 64)
        data.attributes |= {
            "shape": ", ".join(map(str, value.shape)),
            "offset": str(len(self.weights)),
            "size": str(len(raw)),
        }
        self.weights += raw
        for port in element.first("output").children if element.first("output") else ():  # type: ignore[union-attr]
            port.children = [Element("dim", {TEXT: str(size)}) for size in value.shape]

    @applies(edits.SetInput)
    def _set_input(self, edit: edits.SetInput) -> None:
        node = self._node(edit.node)
        if node.dequantizes or edit.index >= len(node.layer.ports):
            raise UsageError("PATCH_NOT_POSSIBLE", f"node {edit.node!r} has no input {edit.index}")
        self._connect(edit.tensor, node.layer.id, node.layer.ports[edit.index])

    def _connect(self, tensor: str, layer: int, port: int) -> None:
        start, out = self._maker(tensor)
        reads = {"to-layer": str(layer), "to-port": str(port)}
        self._edges.children = [
            edge
            for edge in self._edges.children
            if any(edge.attributes.get(key) != value for key, value in reads.items())
        ]
        edge = {"from-layer": str(start), "from-port": str(out), **reads}
        self._edges.children.append(Element("edge", edge))

    @applies(edits.SetOp)
    def _set_op(self, edit: edits.SetOp) -> None:
        node = self._node(edit.node)
        kind, data = _spelled(edit.op, edit.attributes)
        element = self._elements[node.layer.id]
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
        start, out = self._maker(node.inputs[0])
        for edge in self._edges.each("edge"):
            if edge.attributes["from-layer"] == str(node.layer.id):
                edge.attributes |= {"from-layer": str(start), "from-port": str(out)}
        key = str(node.layer.id)
        self._edges.children = [e for e in self._edges.children if e.attributes["to-layer"] != key]
        self._listed.children = [e for e in self._listed.children if e.attributes["id"] != key]

    @applies(edits.InsertBehind)
    def _insert_behind(self, edit: edits.InsertBehind) -> None:
        start, out = (str(each) for each in self._maker(edit.tensor))
        readers = [
            edge for edge in self._edges.each("edge")
            if (edge.attributes["from-layer"], edge.attributes["from-port"]) == (start, out)
        ]  # fmt: skip
        made, port = self._insert(edit, edit.tensor)
        for edge in readers:
            edge.attributes |= {"from-layer": str(made), "from-port": str(port)}
        to = [self._elements[int(edge.attributes["to-layer"])].attributes for edge in readers]
        if any(each["type"] == "Result" for each in to):
            # Callers know an output by the name of the port that its result reads.
            before, after = self._held(edit.tensor), self._held(edit.name)
            if "names" in before.attributes:
                after.attributes["names"] = before.attributes.pop("names")

    @applies(edits.InsertAhead)
    def _insert_ahead(self, edit: edits.InsertAhead) -> None:
        node = self._node(edit.node)
        if node.dequantizes:
            raise UsageError("PATCH_NOT_POSSIBLE", f"nothing can be put before {edit.node!r}")
        before = node.inputs[edit.index]
        self._insert(edit, before)
        self._connect(edit.name, node.layer.id, node.layer.ports[edit.index])

    def _insert(self, edit: edits.InsertBehind | edits.InsertAhead, before: str) -> tuple[int, int]:
        """A new layer that reads ``before`` where an input is left open; its id and its output."""
        kind, data = _spelled(edit.op, edit.attributes)
        inputs = [name or before for name in edit.inputs]
        element = self._new_layer(edit.name, kind, data)
        described = self._port(before)
        ports = [Element("port", {**described.attributes, "id": str(k)}, described.children)
                 for k in range(len(inputs))]  # fmt: skip
        element.children.append(Element("input", {}, ports))
        key = int(element.attributes["id"])
        for place, name in enumerate(inputs):
            self._connect(name, key, place)
        out = Element("port", {**described.attributes, "id": str(len(inputs))}, described.children)
        out.attributes.pop("names", None)
        element.children.append(Element("output", {}, [out]))
        self._makers[edit.name] = key, len(inputs)
        return self._makers[edit.name]

    def _held(self, tensor: str) -> Element:
        layer, out = self._maker(tensor)
        listed = self._elements[layer].first("output")
        ports = listed.children if listed is not None else []
        return next(port for port in ports if port.attributes.get("id") == str(out))

    def _port(self, tensor: str) -> Element:
        return self._held(tensor).copied()

    def _new_layer(self, name: str, kind: tuple[str, str], data: Mapping[str, str]) -> Element:
        if name in self._makers or name in self._nodes:
            raise UsageError("PATCH_NAME_TAKEN", f"there is a {name!r} already")
        key = max(self._elements) + 1
        given = {"id": str(key), "name": name, "type": kind[0], "version": kind[1]}
        element = Element("layer", given, [Element("data", dict(data))] if data else [])
        self._elements[key] = element
        self._listed.children.append(element)
        return element

    def _output(self, element: Element, name: str, precision: str, shape: Sequence[int]) -> None:
        words = {"F32": "FP32", "F16": "FP16", "F64": "FP64", "BOOLEAN": "BOOL"}
        dims = [Element("dim", {TEXT: str(size)}) for size in shape]
        port = Element("port", {"id": "0", "precision": words.get(precision, precision)}, dims)
        element.children.append(Element("output", {}, [port]))
        self._makers[name] = int(element.attributes["id"]), 0


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


def _as_stored(value: Array, layer: Layer, model: IrModel) -> Array:
    """New values in the type of a constant; a type that cannot hold them is refused."""
    assert layer.stored is not None, "only constants are changed"
    dtype = numpy_dtype(layer.stored.dtype)
    if is_float(layer.stored.dtype) or value.dtype == dtype:
        return value.astype(dtype)
    before = array_of(model, layer)
    with np.errstate(all="ignore"):
        narrow = value.astype(dtype)
    if before.dtype.kind in "iub" and not np.array_equal(narrow.astype(value.dtype), value):
        raise UsageError(
            "PATCH_DTYPE", f"constant {layer.name!r} is {layer.stored.dtype} and holds no such "
            "numbers",
        )  # fmt: skip
    return narrow

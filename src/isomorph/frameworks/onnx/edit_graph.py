"""Single edits of an ONNX graph, each on a copy that belongs to the editor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from isomorph.core import patch as edits
from isomorph.core.editing import EditDispatcher, applies, unknown_name
from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.attributes import constant_value
from isomorph.frameworks.onnx.describe import node_names
from isomorph.frameworks.onnx.keep_float import keep_float
from isomorph.frameworks.onnx.schemas import any_schema
from isomorph.frameworks.onnx.scope import bodies, domain_of, graphs
from isomorph.frameworks.onnx.stored_tensors import dtype_name
from isomorph.frameworks.onnx.validate import opsets

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.model import OnnxModel

_COERCE: Mapping[int, Callable[[Any], Any]] = {
    AttributeProto.FLOAT: float,
    AttributeProto.INT: int,
    AttributeProto.STRING: str,
    AttributeProto.FLOATS: lambda value: [float(item) for item in value],
    AttributeProto.INTS: lambda value: [int(item) for item in value],
    AttributeProto.STRINGS: lambda value: [str(item) for item in value],
}


class Editor(EditDispatcher):
    """Knows the nodes of one copied graph by the names that the description gives them.

    ``retyped`` collects the tensors whose type or shape may have changed, ``stored`` the
    constants that got a value. ``around`` is the editor of the graph that holds a body.
    """

    edited = "an ONNX model"

    def __init__(
        self,
        proto: Any,  # noqa: ANN401
        model: OnnxModel,
        *,
        graph: Any = None,  # noqa: ANN401
        around: Editor | None = None,
        retyped: Iterable[str] = (),
        stored: Iterable[str] = (),
    ) -> None:
        self.proto, self.model, self._around = proto, model, around
        self.graph = proto.graph if graph is None else graph
        self.versions = opsets(proto)
        names = node_names(self.graph)
        self.nodes = dict(zip(names, self.graph.node, strict=True))
        self.retyped, self.stored = set(retyped), set(stored)

    def ops(self) -> dict[str, tuple[str, str]]:
        """The domain and operator of every node, by its name."""
        return {name: (domain_of(node), node.op_type) for name, node in self.nodes.items()}

    def apply_all(self, wanted: Iterable[edits.Edit]) -> None:
        """Carry out edits in turn; the operator set itself was raised before them."""
        whole = list(wanted)
        replacing = any(isinstance(edit, edits.AddNode) for edit in whole)
        before = self._read_nodes() if replacing else []
        for edit in whole:
            if not isinstance(edit, edits.RaiseOpset):
                self.apply_edit(edit)
        if replacing:
            self._leave_out(before)

    def _node(self, name: str) -> Any:  # noqa: ANN401
        found = self.nodes.get(name)
        if found is None:
            raise unknown_name("node", name)
        return found

    def _touch(self, node: Any) -> None:  # noqa: ANN401
        self.retyped.update(name for name in node.output if name)

    @applies(edits.SetAttribute)
    def _set_attribute(self, edit: edits.SetAttribute) -> None:
        node = self._node(edit.node)
        kept = [entry for entry in node.attribute if entry.name != edit.name]
        kind = next((e.type for e in node.attribute if e.name == edit.name), None)
        copies = [AttributeProto.FromString(entry.SerializeToString()) for entry in kept]
        del node.attribute[:]
        node.attribute.extend(copies)
        if edit.value is not None:
            node.attribute.append(self._attribute(node, edit.name, edit.value, kind))
        if edit.name == "training_mode" and not edit.value:
            self._leave_statistics_out(node)
        self._touch(node)

    def _leave_statistics_out(self, node: Any) -> None:  # noqa: ANN401
        """A normalization that does not train has one output, and runtimes refuse more."""
        read = {name for part in graphs(self.graph) for each in part.node for name in each.input}
        read |= {value.name for part in graphs(self.graph) for value in part.output}
        while len(node.output) > 1 and node.output[-1] not in read:
            del node.output[-1]

    def _attribute(self, node: Any, name: str, value: Any, kind: int | None) -> Any:  # noqa: ANN401
        if kind is None:
            version = self.versions.get(domain_of(node), 1)
            schema = any_schema(domain_of(node), node.op_type, version)
            entry = schema.attributes.get(name) if schema is not None else None
            kind = int(getattr(entry.type, "value", entry.type)) if entry is not None else None
        if isinstance(value, np.ndarray):
            return helper.make_attribute(name, numpy_helper.from_array(value))
        coerce = _COERCE.get(kind or 0)
        plain = coerce(value) if coerce is not None else value
        return helper.make_attribute(name, plain, attr_type=kind)

    @applies(edits.SetConstant)
    def _set_constant(self, edit: edits.SetConstant) -> None:
        for tensor in self.graph.initializer:
            if tensor.name == edit.tensor:
                dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type))
                tensor.CopyFrom(_tensor(edit.tensor, edit.value, dtype))
                break
        else:
            self._set_constant_node(edit)
        self.stored.add(edit.tensor)
        self.retyped.add(edit.tensor)

    def _set_constant_node(self, edit: edits.SetConstant) -> None:
        for node in self.graph.node:
            constant = constant_value(node, self.model) if edit.tensor in node.output else None
            if constant is not None:
                value = _tensor(edit.tensor, edit.value, constant.dtype)
                del node.attribute[:]
                node.attribute.append(helper.make_attribute("value", value))
                return
        for name, node in self.nodes.items():
            for key, number, _ in bodies(node):
                if edit.tensor.startswith(inside := f"{name}/{key}#{number}/"):
                    rest = edit.tensor.removeprefix(inside)
                    change = edits.SetConstant(tensor=rest, value=edit.value)
                    self._edit_body(edits.EditBody(node=name, body=key, edits=(change,)))
                    return
        if self._around is None:
            raise unknown_name("constant", edit.tensor)
        # What the graph around stores is read by others, too: the body gets one of its own.
        own = self.fresh(f"{edit.tensor}.own")
        self.graph.initializer.append(_tensor(own, edit.value, self._around._kind(edit.tensor)))
        self.stored.add(own)
        self._rewire(edit.tensor, own)

    def _kind(self, name: str) -> np.dtype[Any]:
        """The type of a stored constant, here or in the graphs around."""
        for tensor in self.graph.initializer:
            if tensor.name == name:
                kind: np.dtype[Any] = helper.tensor_dtype_to_np_dtype(tensor.data_type)
                return kind
        for node in self.graph.node:
            constant = constant_value(node, self.model) if name in node.output else None
            if constant is not None:
                return np.dtype(constant.dtype)
        if self._around is None:
            raise unknown_name("constant", name)
        return self._around._kind(name)

    @applies(edits.AddConstant)
    def _add_constant(self, edit: edits.AddConstant) -> None:
        if edit.name in self._names():
            raise UsageError(
                "PATCH_NAME_TAKEN", f"the model already has a tensor named {edit.name!r}"
            )
        array = np.asarray(edit.value)
        self.graph.initializer.append(_tensor(edit.name, array, array.dtype))
        self.stored.add(edit.name)

    @applies(edits.SetQuantization)
    def _set_quantization(self, edit: edits.SetQuantization) -> None:
        raise UsageError(
            "PATCH_GRID",
            f"ONNX keeps no scale beside the tensor {edit.tensor!r}",
            fix="change the constants that its quantizer reads",
        )

    @applies(edits.KeepFloat)
    def _keep_float(self, edit: edits.KeepFloat) -> None:
        node = self._node(edit.node)
        keep_float(self, node)
        self._touch(node)

    @applies(edits.SetInput)
    def _set_input(self, edit: edits.SetInput) -> None:
        node = self._node(edit.node)
        while len(node.input) <= edit.index:
            node.input.append("")
        node.input[edit.index] = edit.tensor
        self._touch(node)

    @applies(edits.SetOp)
    def _set_op(self, edit: edits.SetOp) -> None:
        node = self._node(edit.node)
        domain, _, op = edit.op.rpartition("::")
        node.op_type, node.domain = op, domain
        del node.attribute[:]
        for name, value in edit.attributes.items():
            node.attribute.append(self._attribute(node, name, value, None))
        self._touch(node)

    @applies(edits.RemoveNode)
    def _remove_node(self, edit: edits.RemoveNode) -> None:
        node = self._node(edit.node)
        source, result = node.input[0], node.output[0]
        self._touch(node)
        if any(value.name == result for value in self.graph.output):
            # The name of an output is part of the model's signature, so it stays.
            node.op_type, node.domain = "Identity", ""
            del node.attribute[:]
            del node.input[1:]
            del node.output[1:]
            return
        self._rewire(result, source)
        del self.nodes[edit.node]
        place = next(i for i, each in enumerate(self.graph.node) if each.output[0] == result)
        del self.graph.node[place]

    def _rewire(self, old: str, new: str) -> None:
        for part in graphs(self.graph):
            for node in part.node:
                for place, name in enumerate(node.input):
                    if name == old:
                        node.input[place] = new
            if part is not self.graph:
                for value in part.output:
                    if value.name == old:
                        value.name = new

    @applies(edits.InsertBehind)
    def _insert_behind(self, edit: edits.InsertBehind) -> None:
        maker = next((n for n in self.graph.node if edit.tensor in n.output), None)
        if maker is None:
            raise unknown_name("computed tensor", edit.tensor)
        raw = self.fresh(f"{edit.tensor}.unpatched")
        maker.output[list(maker.output).index(edit.tensor)] = raw
        self._new_node(edit, raw, edit.tensor)
        self.retyped.add(edit.tensor)

    @applies(edits.InsertAhead)
    def _insert_ahead(self, edit: edits.InsertAhead) -> None:
        node = self._node(edit.node)
        fresh = self.fresh(f"{edit.name}.out")
        before = node.input[edit.index]
        node.input[edit.index] = fresh
        self._touch(node)
        self._new_node(edit, before, fresh)

    @applies(edits.AddNode)
    def _add_node(self, edit: edits.AddNode) -> None:
        self._refuse_taken(edit.name)
        for maker in list(self.graph.node):
            for place, name in enumerate(maker.output):
                if name and name in edit.outputs:
                    maker.output[place] = self.fresh(f"{name}.unpatched")
        domain, _, op = edit.op.rpartition("::")
        node = helper.make_node(op, edit.inputs, edit.outputs, name=edit.name, domain=domain)
        for key, value in edit.attributes.items():
            node.attribute.append(self._attribute(node, key, value, None))
        self.graph.node.append(node)
        self.nodes[edit.name] = self.graph.node[-1]
        self.retyped.update(name for name in edit.outputs if name)

    def _read_nodes(self) -> list[str]:
        """The nodes of which somebody reads a result."""
        read = {n for part in graphs(self.graph) for each in part.node for n in each.input}
        read |= {value.name for part in graphs(self.graph) for value in part.output}
        return [name for name, node in self.nodes.items() if not read.isdisjoint(node.output)]

    def _leave_out(self, before: Iterable[str]) -> None:
        """Take out the nodes that were read before and are not any more."""
        while idle := set(before) & set(self.nodes) - set(self._read_nodes()):
            for name in idle:
                self.graph.node.remove(self.nodes.pop(name))

    def _refuse_taken(self, name: str) -> None:
        if name in self.nodes:
            raise UsageError("PATCH_NAME_TAKEN", f"the model already has a node named {name!r}")

    def _new_node(
        self, edit: edits.InsertBehind | edits.InsertAhead, source: str, output: str
    ) -> None:
        self._refuse_taken(edit.name)
        domain, _, op = edit.op.rpartition("::")
        reads = [each or source for each in edit.inputs]
        node = helper.make_node(op, reads, [output], name=edit.name, domain=domain)
        for key, value in edit.attributes.items():
            node.attribute.append(self._attribute(node, key, value, None))
        self.graph.node.append(node)
        self.nodes[edit.name] = self.graph.node[-1]

    @applies(edits.SetOutputs)
    def _set_outputs(self, edit: edits.SetOutputs) -> None:
        known = {value.name: value for value in self.graph.output}
        if sorted(known) != sorted(edit.names):
            raise UsageError(
                "PATCH_OUTPUTS",
                "the patch does not name each output once",
                why=f"the model has {', '.join(known)}",
            )
        copies = [
            onnx.ValueInfoProto.FromString(known[name].SerializeToString()) for name in edit.names
        ]
        del self.graph.output[:]
        self.graph.output.extend(copies)
        if edit.called:
            self._rename(dict(zip(edit.names, edit.called, strict=True)))

    def _rename(self, names: Mapping[str, str]) -> None:
        """Tensors under other names, all at once, so that two may exchange theirs."""
        for part in graphs(self.graph):
            for node in part.node:
                for words in (node.input, node.output):
                    for place, name in enumerate(words):
                        words[place] = names.get(name, name)
            for value in (*part.output, *part.value_info):
                value.name = names.get(value.name, value.name)
        self.retyped.update(names)

    @applies(edits.SwapBodies)
    def _swap_bodies(self, edit: edits.SwapBodies) -> None:
        node = self._node(edit.node)
        branches = [entry for entry in node.attribute if entry.HasField("g")]
        if len(branches) != 2:
            raise UsageError("PATCH_NOT_TWO", f"node {edit.node!r} has not just two branches")
        branches[0].name, branches[1].name = branches[1].name, branches[0].name

    @applies(edits.EditBody)
    def _edit_body(self, edit: edits.EditBody) -> None:
        node = self._node(edit.node)
        graph = next((body for key, _, body in bodies(node) if key == edit.body), None)
        if graph is None:
            raise unknown_name("body", f"{edit.node}/{edit.body}")
        inner = Editor(self.proto, self.model, graph=graph, around=self)
        inner.apply_all(edit.edits)
        self.retyped |= inner.retyped
        self.stored |= inner.stored
        self._touch(node)

    @applies(edits.DeclareShape)
    def _declare_shape(self, edit: edits.DeclareShape) -> None:
        value = next((each for each in self.graph.output if each.name == edit.tensor), None)
        if value is None:
            raise unknown_name("output", edit.tensor)
        del value.type.tensor_type.shape.dim[:]
        for size in edit.shape:
            value.type.tensor_type.shape.dim.add().dim_value = size

    @applies(edits.FreeAxis)
    def _free_axis(self, edit: edits.FreeAxis) -> None:
        for value in (*self.graph.input, *self.graph.output):
            sizes = value.type.tensor_type.shape.dim
            if value.name == edit.tensor and edit.axis < len(sizes):
                sizes[edit.axis].dim_param = edit.name
                # Whatever was inferred from the fixed size would contradict another one.
                del self.graph.value_info[:]
                return
        raise unknown_name("input or output with such an axis", edit.tensor)

    def _names(self) -> set[str]:
        names = {tensor.name for tensor in self.graph.initializer}
        names |= {value.name for value in self.graph.input}
        names |= {name for node in self.graph.node for name in node.output}
        return names if self._around is None else names | self._around._names()

    def fresh(self, wanted: str) -> str:
        """A name that no tensor has yet."""
        taken = self._names()
        while wanted in taken:
            wanted += "."
        return wanted


def _tensor(name: str, value: Any, dtype: np.dtype[Any]) -> Any:  # noqa: ANN401
    array = np.ascontiguousarray(np.asarray(value)).reshape(np.shape(value))
    with np.errstate(over="ignore", invalid="ignore"):
        array = array.astype(dtype)
    if dtype_name(helper.np_dtype_to_tensor_dtype(array.dtype)) is None:
        raise UsageError("PATCH_DTYPE", f"ONNX has no type {dtype} for constant {name!r}")
    return numpy_helper.from_array(array, name)

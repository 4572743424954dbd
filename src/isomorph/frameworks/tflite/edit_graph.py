"""Single edits of a TFLite main sub-graph, each on a copy that belongs to the editor."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from isomorph.core import patch as edits
from isomorph.core.editing import EditDispatcher, applies, named, unknown_name
from isomorph.core.errors import UsageError
from isomorph.frameworks.tflite.buffers import DTYPES, packed
from isomorph.frameworks.tflite.describe import output_names
from isomorph.frameworks.tflite.keep_float import keep_float
from isomorph.frameworks.tflite.op_options import words_of
from isomorph.frameworks.tflite.op_writer import Spelled, options_for, set_option, spelled
from isomorph.frameworks.tflite.program import ABSENT, TfliteQuantization
from isomorph.frameworks.tflite.tensor_values import quantized

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.tflite.program import TfliteProgram, TfliteTensor

_NUMBERS = {DTYPES[word]: number for number, word in words_of(schema.TensorType).items()}


class Editor(EditDispatcher):
    """Knows the operators and tensors of one copied sub-graph by the names of the description.

    Operators that a patch takes out or puts in do not rename the others while it is applied:
    they find their places at the end.
    """

    edited = "a TFLite model"

    def __init__(self, model: Any, program: TfliteProgram) -> None:  # noqa: ANN401
        self.model, self.graph, self.program = model, model.subgraphs[0], program
        described = program.main.operators
        self.nodes: dict[str, Any] = dict(
            zip((each.name for each in described), self.graph.operators, strict=True)
        )
        self._op = {id(self.nodes[each.name]): each.op for each in described}
        self.tensors = dict(program.index)

    @applies(edits.KeepFloat)
    def _keep_float(self, edit: edits.KeepFloat) -> None:
        keep_float(self, self._node(edit.node))

    def finish(self) -> None:
        """Put the operators into an order in which they can run, changed no more than needed."""
        made = {int(index) for each in self.graph.operators for index in each.outputs}
        ready: set[int] = set()
        waiting, order = list(self.graph.operators), list[Any]()
        while waiting:
            able = (n for n in waiting if all(int(i) in ready or int(i) not in made
                                              for i in n.inputs))  # fmt: skip
            node = next(able, None)
            if node is None:
                name = next(key for key, each in self.nodes.items() if each is waiting[0])
                raise UsageError(
                    "PATCH_CYCLE",
                    "the patch lets a node depend on its own result",
                    why=f"node {name!r} comes after itself",
                )
            waiting = [each for each in waiting if each is not node]
            order.append(node)
            ready.update(int(index) for index in node.outputs)
        self.graph.operators = order
        self._let_go()

    def _let_go(self) -> None:
        """Constants that the patch has left without a reader take no space in the file."""
        read = {int(i) for node in self.graph.operators for i in (*node.inputs, *node.outputs)}
        read |= {int(i) for i in (*self.graph.inputs, *self.graph.outputs)}
        before = {i for each in self.program.main.operators for i in each.inputs}
        for index in before - read - {ABSENT}:
            self.graph.tensors[index].buffer = 0
        used = {int(t.buffer) for graph in self.model.subgraphs for t in graph.tensors or ()}
        used |= {int(entry.buffer) for entry in self.model.metadata or ()}
        for place in {t.buffer for t in self.program.main.tensors} - used:
            self.model.buffers[place] = schema.BufferT()

    def _node(self, name: str) -> Any:  # noqa: ANN401
        return named(self.nodes, "node", name)

    def _index(self, name: str) -> int:
        return named(self.tensors, "tensor", name)

    @applies(edits.SetAttribute)
    def _set_attribute(self, edit: edits.SetAttribute) -> None:
        node = self._node(edit.node)
        for field in ("builtinOptions", "builtinOptions2"):
            options = copy.copy(getattr(node, field))
            if options is not None and set_option(options, edit.name, edit.value):
                setattr(node, field, options)
                return
        kind, empty = options_for(self._op[id(node)])
        if node.builtinOptions is None and kind and set_option(empty, edit.name, edit.value):
            node.builtinOptions, node.builtinOptionsType = empty, kind
            return
        raise UsageError("PATCH_OPTION", f"node {edit.node!r} has no option {edit.name!r}")

    @applies(edits.SetConstant)
    def _set_constant(self, edit: edits.SetConstant) -> None:
        tensor, described = self._in_a_body(edit.tensor) or self._at_the_top(edit.tensor)
        if described is None or not described.constant:
            raise unknown_name("constant", edit.tensor)
        value = np.asarray(edit.value)
        grid = tensor.quantization
        if value.dtype.kind == "f" and grid is not None and grid.scale is not None:
            value = _on_grid(value, grid, described.dtype)
        self.store(tensor, value, described.dtype)

    def _at_the_top(self, name: str) -> tuple[Any, TfliteTensor | None]:
        index = self._index(name)
        return self.graph.tensors[index], self._described(index)

    def _in_a_body(self, name: str) -> tuple[Any, TfliteTensor] | None:
        """A tensor of a loop or branch: ``WHILE:1/body#0/kernel``, in a copy of that sub-graph."""
        for operator in self.program.main.operators:
            for key, index in operator.bodies.items():
                own = name.removeprefix(f"{operator.name}/{key}#0/")
                found = [t for t in self.program.graphs[index].tensors if t.name == own != name]
                if found:
                    graph = copy.copy(self.model.subgraphs[index])
                    graph.tensors = [copy.copy(each) for each in graph.tensors]
                    self.model.subgraphs[index] = graph
                    return graph.tensors[found[0].index], found[0]
        return None

    def _described(self, index: int) -> TfliteTensor | None:
        known = self.program.main.tensors
        return known[index] if index < len(known) else None

    def store(self, tensor: Any, value: Array, dtype: str) -> None:  # noqa: ANN401
        """Give a tensor a value of its own."""
        stored = schema.BufferT()
        stored.data = np.frombuffer(packed(value, dtype), np.uint8)
        tensor.buffer, tensor.sparsity = len(self.model.buffers), None
        tensor.shape, tensor.shapeSignature = _vector(value.shape), None
        self.model.buffers.append(stored)

    @applies(edits.AddConstant)
    def _add_constant(self, edit: edits.AddConstant) -> None:
        value = np.asarray(edit.value)
        tensor = self._new_tensor(edit.name, dtype=_NUMBERS[value.dtype.name])
        self.store(tensor, value, value.dtype.name)

    def _new_tensor(self, name: str, *, dtype: int) -> Any:  # noqa: ANN401
        if name in self.tensors:
            raise UsageError("PATCH_NAME_TAKEN", f"the model already has a tensor named {name!r}")
        tensor = schema.TensorT()
        tensor.name, tensor.type, tensor.buffer = name.encode(), dtype, 0
        self.tensors[name] = len(self.graph.tensors)
        self.graph.tensors.append(tensor)
        return tensor

    @applies(edits.SetQuantization)
    def _set_quantization(self, edit: edits.SetQuantization) -> None:
        tensor = self.graph.tensors[self._index(edit.tensor)]
        given = copy.copy(tensor.quantization) or schema.QuantizationParametersT()
        given.scale = np.asarray(edit.scale, np.float32)
        given.zeroPoint = np.asarray(edit.zero_point, np.int64)
        given.quantizedDimension = edit.axis or 0
        # What the range was when it was calibrated is not true of another grid.
        given.min = given.max = None
        tensor.quantization = given

    @applies(edits.SetInput)
    def _set_input(self, edit: edits.SetInput) -> None:
        node = self._node(edit.node)
        reads = [int(index) for index in node.inputs]
        reads += [ABSENT] * (edit.index + 1 - len(reads))
        reads[edit.index] = self._index(edit.tensor) if edit.tensor else ABSENT
        node.inputs = _vector(reads)

    @applies(edits.SetOp)
    def _set_op(self, edit: edits.SetOp) -> None:
        node = self._node(edit.node)
        self.write(node, spelled(edit.op, edit.attributes, self._rank(int(node.inputs[0]))))

    def _rank(self, index: int) -> int | None:
        shape = self.graph.tensors[index].shape
        return None if shape is None else len(shape)

    def write(self, node: Any, word: Spelled) -> None:  # noqa: ANN401
        """Let an operator be this builtin with these options."""
        kind, options = options_for(word.op)
        for name, value in word.options.items():
            if options is None or not set_option(options, name, value):
                raise UsageError("PATCH_OPTION", f"{word.op} has no option {name!r}")
        node.opcodeIndex = self._code(word.op)
        node.builtinOptions, node.builtinOptionsType = options, kind
        node.builtinOptions2, node.builtinOptions2Type = None, 0
        self._op[id(node)] = word.op
        for place, value in enumerate(word.constants):
            name = self.fresh(f"{word.op.lower()}_parameter_{place}")
            self.store(
                self._new_tensor(name, dtype=_NUMBERS[value.dtype.name]), value, value.dtype.name
            )
            node.inputs = _vector([*node.inputs, self.tensors[name]])

    def _code(self, op: str) -> int:
        number = getattr(schema.BuiltinOperator, op)
        for place, code in enumerate(self.model.operatorCodes):
            if max(int(code.deprecatedBuiltinCode), int(code.builtinCode)) == number:
                return place
        code = schema.OperatorCodeT()
        # The old field counts no farther than this, and readers take the larger of the two.
        code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), 1
        self.model.operatorCodes.append(code)
        return len(self.model.operatorCodes) - 1

    @applies(edits.RemoveNode)
    def _remove_node(self, edit: edits.RemoveNode) -> None:
        node = self._node(edit.node)
        source, result = int(node.inputs[0]), int(node.outputs[0])
        if result in [int(index) for index in self.graph.outputs]:
            self._pass_on(node, source, result)
            return
        for each in self.graph.operators:
            each.inputs = _vector([source if int(i) == result else int(i) for i in each.inputs])
        self.graph.operators = [each for each in self.graph.operators if each is not node]
        del self.nodes[edit.node]

    def _pass_on(self, node: Any, source: int, result: int) -> None:  # noqa: ANN401
        """Turn the operator behind an output into one that hands its input on."""
        read, made = self.graph.tensors[source], self.graph.tensors[result]
        sizes = read.shapeSignature if read.shapeSignature is not None else read.shape
        if sizes is None or sum(int(size) < 0 for size in sizes) > 1:
            raise UsageError("PATCH_OUTPUT", "an output of unknown shape cannot be rewired")
        made.type, made.quantization = read.type, read.quantization
        made.shape, made.shapeSignature = read.shape, read.shapeSignature
        node.inputs, node.outputs = _vector([source]), _vector([result])
        shape = np.asarray(sizes, np.int32)
        self.write(node, Spelled(op="RESHAPE", options={"new_shape": shape}, constants=(shape,)))

    @applies(edits.InsertBehind)
    def _insert_behind(self, edit: edits.InsertBehind) -> None:
        index = self._index(edit.tensor)
        maker = next(
            (n for n in self.graph.operators if index in [int(i) for i in n.outputs]), None
        )
        if maker is None:
            raise unknown_name("computed tensor", edit.tensor)
        raw = self.like(index, f"{edit.tensor}.unpatched")
        maker.outputs = _vector([raw if int(i) == index else int(i) for i in maker.outputs])
        self._new_node(edit, raw, index, self.graph.operators.index(maker) + 1)

    @applies(edits.InsertAhead)
    def _insert_ahead(self, edit: edits.InsertAhead) -> None:
        node = self._node(edit.node)
        before = int(node.inputs[edit.index])
        fresh = self.like(before, f"{edit.name}.out")
        order = edit.attributes.get("perm")
        if order is not None:
            read = self.graph.tensors[before].shape
            self.graph.tensors[fresh].shape = _vector([int(read[axis]) for axis in order])
            self.graph.tensors[fresh].shapeSignature = None
        node.inputs = _vector([fresh if p == edit.index else int(i)
                               for p, i in enumerate(node.inputs)])  # fmt: skip
        self._new_node(edit, before, fresh, self.graph.operators.index(node))

    def like(self, index: int, wanted: str) -> int:
        """A new computed tensor that declares what another one does."""
        name = self.fresh(wanted)
        tensor = copy.copy(self.graph.tensors[index])
        tensor.name, tensor.buffer, tensor.isVariable = name.encode(), 0, False
        self.tensors[name] = len(self.graph.tensors)
        self.graph.tensors.append(tensor)
        return self.tensors[name]

    def fresh(self, wanted: str) -> str:
        """A name that no tensor has."""
        while wanted in self.tensors:
            wanted += "."
        return wanted

    def _new_node(
        self, edit: edits.InsertBehind | edits.InsertAhead, source: int, result: int, place: int
    ) -> None:
        node = schema.OperatorT()
        node.inputs = _vector([self._index(each) if each else source for each in edit.inputs])
        node.outputs = _vector([result])
        self.write(node, spelled(edit.op, edit.attributes, self._rank(source)))
        self.graph.operators.insert(place, node)
        self.nodes[edit.name] = node

    @applies(edits.SetOutputs)
    def _set_outputs(self, edit: edits.SetOutputs) -> None:
        """Names stay where callers look for them; what they name changes places."""
        now = output_names(self.program)
        if sorted(now) != sorted(edit.names):
            raise UsageError(
                "PATCH_OUTPUTS",
                "the patch does not name each output once",
                why=f"the model has {', '.join(now)}",
            )
        moved = {
            self.tensors[old]: self.tensors[new] for old, new in zip(now, edit.names, strict=True)
        }
        self.graph.outputs = _vector([moved[int(index)] for index in self.graph.outputs])
        self.model.signatureDefs = [
            _renamed(each, moved) if int(each.subgraphIndex) == 0 else each
            for each in self.model.signatureDefs or ()
        ] or None

    @applies(edits.SwapBodies)
    def _swap_bodies(self, edit: edits.SwapBodies) -> None:
        node = self._node(edit.node)
        options = copy.copy(node.builtinOptions)
        if not hasattr(options, "thenSubgraphIndex"):
            raise UsageError("PATCH_NOT_TWO", f"node {edit.node!r} has not just two branches")
        options.thenSubgraphIndex, options.elseSubgraphIndex = (
            options.elseSubgraphIndex,
            options.thenSubgraphIndex,
        )
        node.builtinOptions = options


def _renamed(signature: Any, moved: Mapping[int, int]) -> Any:  # noqa: ANN401
    copied = copy.copy(signature)
    copied.outputs = [copy.copy(each) for each in signature.outputs or ()]
    for each in copied.outputs:
        each.tensorIndex = moved.get(int(each.tensorIndex), int(each.tensorIndex))
    return copied


def _on_grid(value: Array, given: Any, dtype: str) -> Array:  # noqa: ANN401
    """Real numbers as the tensor stores them."""
    scales = tuple(float(each) for each in given.scale)
    grid = TfliteQuantization(
        scales=scales,
        zero_points=tuple(int(each) for each in given.zeroPoint),
        axis=int(given.quantizedDimension) if len(scales) > 1 else None,
    )
    return quantized(value, grid, dtype)


def _vector(numbers: Sequence[Any]) -> Any:  # noqa: ANN401
    return np.asarray([int(each) for each in numbers], np.int32)

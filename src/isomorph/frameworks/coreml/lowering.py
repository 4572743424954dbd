"""An ML program as nodes in the words of ONNX, for its description and its evaluation alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from isomorph.frameworks.coreml import (  # noqa: F401 - they enter their operators
    indexing_operators,
    layers,
)
from isomorph.frameworks.coreml.arguments import Arguments, Lowered, NotUnderstoodError, Stored
from isomorph.frameworks.coreml.operators import TABLE
from isomorph.frameworks.coreml.program import (
    Array,
    MilBlock,
    MilOperation,
    MilProgram,
    MilType,
    MilValue,
)

BODIES = {"cond": ("If", ("then", "else")), "while_loop": ("Loop", ("cond", "body"))}
"""Operators that run blocks: their neutral names, and what each block is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredNode:
    """One operation with what it computes; ``missing`` is why that is not known."""

    index: int
    name: str
    operation: MilOperation
    meaning: Lowered
    bodies: Mapping[str, LoweredGraph] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredGraph:
    """The nodes of one block, the constants that they read, and the types of its tensors."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[LoweredNode, ...]
    constants: Mapping[str, Stored]
    types: Mapping[str, MilType]
    read: Callable[[MilValue], Array] = field(repr=False)

    def array(self, name: str) -> Array:
        """The numbers of a constant."""
        value = self.constants[name]
        return self.read(value) if isinstance(value, MilValue) else value

    @property
    def captured(self) -> tuple[str, ...]:
        """What the nodes read from the blocks around this one."""
        own, outside = {*self.inputs, *self.constants}, dict[str, None]()
        for node in self.nodes:
            read = (*node.meaning.inputs, *(n for b in node.bodies.values() for n in b.captured))
            outside.update((name, None) for name in read if name and name not in own)
            own.update(name for name, _ in node.operation.outputs)
        outside.update((name, None) for name in self.outputs if name not in own)
        return tuple(outside)


def lowered(program: MilProgram) -> LoweredGraph:
    """The main block; its outputs in the order of the model's description."""
    graph = _Block(program, {}, {}).graph(program.block, program.inputs)
    return replace(graph, outputs=program.outputs)


class _Block:
    """Lowers one block inside those around it, whose values and types are known."""

    def __init__(
        self, program: MilProgram, known: Mapping[str, MilValue], types: Mapping[str, MilType]
    ) -> None:
        self._program = program
        self._known = dict(known)
        self._types = dict(types)
        self._made: dict[str, Stored] = {}
        self._own: dict[str, Stored] = {}
        self._names: set[str] = set()

    def graph(self, block: MilBlock, inputs: tuple[tuple[str, MilType], ...]) -> LoweredGraph:
        self._types.update(inputs)
        nodes: list[LoweredNode] = []
        for operation in block.operations:
            self._types.update(operation.outputs)
            value = operation.attributes.get("val") if operation.type == "const" else None
            if value is not None:
                name = operation.outputs[0][0]
                self._known[name] = self._own[name] = value
                continue
            nodes.append(self._node(len(nodes), operation))
        used = {name for node in nodes for name in (*node.meaning.inputs, *block.outputs)}
        used.update(n for node in nodes for b in node.bodies.values() for n in b.captured)
        constants = {name: value for name, value in self._own.items() if name in used}
        constants.update((name, value) for name, value in self._made.items() if name in used)
        types = {name: self._types[name] for name in self._types if name in used}
        own = {name for node in nodes for name, _ in node.operation.outputs}
        types.update((name, self._types[name]) for name in own)
        types.update(inputs)
        return LoweredGraph(
            inputs=tuple(name for name, _ in inputs),
            outputs=block.outputs,
            nodes=tuple(nodes),
            constants=constants,
            types=types,
            read=self._program.array,
        )

    def _node(self, index: int, operation: MilOperation) -> LoweredNode:
        name = operation.name
        if name in self._names:
            name = operation.outputs[0][0] if operation.outputs else f"{name}_{index}"
        self._names.add(name)
        given = Arguments(self._program, operation, self._known, self._made)
        missing, bodies = "", dict[str, LoweredGraph]()
        if operation.type in BODIES:
            meaning, bodies = self._with_blocks(given)
            if len(bodies) != len(operation.blocks) or len(bodies) != 2:
                missing = f"{len(operation.blocks)} blocks"
        elif operation.type in TABLE:
            try:
                meaning = TABLE[operation.type](given, self._types)
            except (NotUnderstoodError, ValueError, TypeError, IndexError) as error:
                meaning, missing = self._as_stated(given), str(error) or type(error).__name__
        else:
            meaning, missing = self._as_stated(given), "no kernel"
        return LoweredNode(
            index=index, name=name, operation=operation, meaning=meaning, bodies=bodies,
            missing=missing,
        )  # fmt: skip

    def _with_blocks(self, given: Arguments) -> tuple[Lowered, dict[str, LoweredGraph]]:
        operation = given.operation
        op, words = BODIES[operation.type]
        bodies = {
            word: _Block(self._program, self._known, self._types).graph(block, block.inputs)
            for word, block in zip(words, operation.blocks, strict=False)
        }
        read = "pred" if operation.type == "cond" else "loop_vars"
        return given.lowered(op, *given.tensors(read)), bodies

    def _as_stated(self, given: Arguments) -> Lowered:
        """An operation without a description: all tensors that it reads, in its own order."""
        inputs = [name for word in given.operation.inputs for name in given.tensors(word)]
        return Lowered(op=given.operation.type, inputs=tuple(inputs))

"""Cutting a TFLite program: which operators lie between some tensors and some others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from isomorph.core.cutting import unknown_tensor, walk_back
from isomorph.frameworks.tflite.buffers import HANDLES
from isomorph.frameworks.tflite.program import ABSENT

if TYPE_CHECKING:
    from isomorph.frameworks.tflite.program import TfliteGraph, TfliteOperator, TfliteProgram

_WRITES = frozenset({"ASSIGN_VARIABLE", "HASHTABLE_IMPORT"})
_HANDLE_OF = frozenset({"VAR_HANDLE", "HASHTABLE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What lies between feeds and fetches: operators in the order in which they run.

    ``inputs`` are graph inputs that are needed although they are not fed. ``stateful`` states
    that running it leaves something behind in the interpreter.
    """

    operators: tuple[int, ...]
    inputs: tuple[int, ...]
    stateful: bool


class Cutter:
    """Knows who makes and who reads each tensor of the main sub-graph, and who keeps state."""

    def __init__(self, program: TfliteProgram) -> None:
        self.program = program
        self.graph = program.main
        self.maker = {index: each.index for each in self.graph.operators for index in each.outputs}
        self._touching = {graph.index: _touches_resources(graph) for graph in program.graphs}

    def find(self, name: str) -> int:
        """The tensor of this name, or the error that shows the nearest one."""
        index = self.program.index.get(name)
        if index is None:
            raise unknown_tensor(name, self.program.index)
        return index

    def position(self, tensor: int) -> int:
        """How early a tensor is there: -1 for inputs and constants, else its operator's place."""
        return self.maker.get(tensor, -1)

    @cached_property
    def whole(self) -> Slice:
        """The main sub-graph as it is."""
        operators = self.graph.operators
        return Slice(
            operators=tuple(each.index for each in operators),
            inputs=self.graph.inputs,
            stateful=any(self._keeps(each) for each in operators),
        )

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Tensors that are computed from constants alone: dequantized weights, mostly."""
        known = {tensor.index for tensor in self.graph.tensors if tensor.constant} | {ABSENT}
        stored = set(known)
        for operator in self.graph.operators:
            reads = set(operator.inputs)
            if reads and reads <= known and not operator.bodies and "RANDOM" not in operator.op:
                known.update(operator.outputs)
        return frozenset(known - stored)

    def slice(self, feeds: Collection[int], fetch: Sequence[int]) -> Slice:
        """Walk back from what is fetched and stop at what is fed.

        A variable that is read needs whatever was assigned to it earlier in the same run.
        """
        operator = self.graph.operators
        needed, ends = walk_back(
            fetch,
            {*feeds, ABSENT},
            self.maker.get,
            lambda place: operator[place].inputs,
            lambda place: self._effects_on(operator[place]),
        )
        operators = tuple(sorted(needed))
        return Slice(
            operators=operators,
            inputs=tuple(sorted(index for index in ends if index in self.graph.inputs)),
            stateful=any(self._keeps(self.graph.operators[each]) for each in operators),
        )

    def _keeps(self, operator: TfliteOperator) -> bool:
        """Whether running it twice in one interpreter is not the same as running it once."""
        return operator.op in _HANDLE_OF or self._opaque(operator)

    def _opaque(self, operator: TfliteOperator) -> bool:
        # What happens to variables inside a body is not followed: it may be anything.
        return any(self._touching.get(index) for index in operator.bodies.values())

    def _effects_on(self, operator: TfliteOperator) -> list[int]:
        """Earlier operators that may have changed what this one reads from a handle."""
        opaque = self._opaque(operator)
        handles = self._handles(operator)
        if not handles and not opaque:
            return []
        found = []
        for other in self.graph.operators[: operator.index]:
            same = bool(handles & self._handles(other)) or opaque
            if self._opaque(other) or (other.op in _WRITES and same):
                found.append(other.index)
        return found

    def _handles(self, operator: TfliteOperator) -> frozenset[str]:
        """The variables and tables whose handles it reads, by their shared names."""
        tensors = self.graph.tensors
        stored = [
            index
            for index in operator.inputs
            if index != ABSENT and tensors[index].dtype in HANDLES
        ]
        return frozenset(self._identity(index) for index in stored)

    def _identity(self, index: int) -> str:
        place = self.maker.get(index)
        options = self.graph.operators[place].options if place is not None else {}
        own = options.get("shared_name", options.get("table_id", f"tensor {index}"))
        return f"{options.get('container', '')}/{own}"


def _touches_resources(graph: TfliteGraph) -> bool:
    return any(tensor.dtype in HANDLES for tensor in graph.tensors)

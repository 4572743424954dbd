"""Writing flatbuffers: a cut of a program as a model of its own."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from isomorph.core.errors import UsageError
from isomorph.frameworks.tflite.buffers import packed
from isomorph.frameworks.tflite.program import ABSENT

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.tflite.cut import Slice
    from isomorph.frameworks.tflite.program import TfliteProgram

ALIGNMENT = 16
"""Where the schema wants the data of a buffer to begin."""

# Metadata about how the file is to be run; control dependencies name operators
# by place, and are not true of a cut.
_KEPT_METADATA = frozenset({b"reduced_precision_support", b"min_runtime_version"})


class Cut:
    """A model of its own: its bytes, and where the original's tensors are in it."""

    def __init__(self, data: bytes, places: Mapping[int, int]) -> None:
        self.data, self.places = data, places


def build(
    program: TfliteProgram,
    piece: Slice,
    feeds: Sequence[int],
    fetch: Sequence[int],
    replaced: Mapping[int, Array],
) -> Cut:
    """The operators of ``piece`` with ``feeds`` as inputs and ``fetch`` as outputs.

    ``replaced`` are constants with another value: they stay constants, because kernels
    prepare those ahead, and the same numbers as an input would take another path.
    """
    builder = _CutBuilder(program)
    graph = builder.graph(piece, feeds, fetch, replaced)
    bodies = _bodies(program, piece)
    model = copy.copy(program.model)
    model.subgraphs = [graph, *builder.copied(bodies)]
    model.signatureDefs = None
    model.metadata = builder.metadata()
    model.metadataBuffer = None
    model.buffers = builder.buffers
    return Cut(serialized(model), builder.places)


def rooted(program: TfliteProgram, index: int, fetch: Sequence[int]) -> bytes:
    """A body in the place of the main sub-graph, with ``fetch`` of its tensors as outputs.

    Operators know the other bodies by number, so those stay where they are.
    """
    builder = _CutBuilder(program)
    model = copy.copy(program.model)
    model.subgraphs = builder.copied([index, *range(1, len(program.graphs))])
    model.subgraphs[0].outputs = _vector(list(fetch))
    model.signatureDefs = None
    model.metadata = builder.metadata()
    model.metadataBuffer = None
    model.buffers = builder.buffers
    return serialized(model)


def serialized(model: Any) -> bytes:  # noqa: ANN401
    """The flatbuffer of a ModelT."""
    size = sum(len(each) for each in model.buffers if isinstance(each, _Buffer))
    builder = flatbuffers.Builder(size + (64 << 10))
    try:
        builder.Finish(model.Pack(builder), b"TFL3")
    except flatbuffers.builder.BuilderSizeError as error:
        raise UsageError(
            "MODEL_TOO_LARGE", "a cut of this model does not fit into one flatbuffer of 2 GB"
        ) from error
    return bytes(builder.Output())


def aligned(raw: Any) -> Any:  # noqa: ANN401
    """A buffer of these bytes, for a ModelT that is to be serialized."""
    return _Buffer(raw)


class _Buffer:
    """A buffer whose data begin where the schema wants them; the generated one does not align."""

    def __init__(self, raw: Any = b"") -> None:  # noqa: ANN401
        self.raw = raw

    def __len__(self) -> int:
        return len(self.raw)

    def Pack(self, builder: Any) -> int:  # noqa: ANN401, N802 - the schema's own word
        data = None
        if len(self.raw):
            builder.StartVector(1, len(self.raw), ALIGNMENT)
            builder.head -= len(self.raw)
            builder.Bytes[builder.head : builder.head + len(self.raw)] = self.raw
            data = builder.EndVector()
        schema.BufferStart(builder)
        if data is not None:
            schema.BufferAddData(builder, data)
        return int(schema.BufferEnd(builder))


class _CutBuilder:
    """Numbers the tensors and buffers of a cut anew."""

    def __init__(self, program: TfliteProgram) -> None:
        self.program = program
        self.source = program.model.subgraphs[0]
        # Buffer 0 is empty by convention, and stands for "no value".
        self.buffers: list[_Buffer] = [_Buffer()]
        self.places: dict[int, int] = {}
        self._stored: dict[int, int] = {}
        self._tensors: list[Any] = []

    def graph(
        self,
        piece: Slice,
        feeds: Sequence[int],
        fetch: Sequence[int],
        replaced: Mapping[int, Array],
    ) -> Any:  # noqa: ANN401
        for index in feeds:
            self._add(index, fed=True)
        for index, array in replaced.items():
            self._replace(index, array)
        operators = [self._operator(place, set(feeds)) for place in piece.operators]
        graph = schema.SubGraphT()
        graph.name = b"cut"
        graph.tensors = self._tensors
        graph.operators = operators
        graph.inputs = _vector([self.places[index] for index in feeds])
        graph.outputs = _vector([self.places[index] for index in fetch])
        return graph

    def copied(self, graphs: Sequence[int]) -> list[Any]:
        """Bodies as they are, at the places where the operators look for them."""
        found = []
        for index in graphs:
            graph = copy.copy(self.program.model.subgraphs[index])
            graph.tensors = [self._tensor(tensor) for tensor in graph.tensors or ()]
            found.append(graph)
        return found

    def metadata(self) -> list[Any] | None:
        kept = []
        for entry in self.program.model.metadata or ():
            if entry.name in _KEPT_METADATA:
                copied = copy.copy(entry)
                copied.buffer = self._buffer(entry.buffer)
                kept.append(copied)
        return kept or None

    def _operator(self, place: int, fed: set[int]) -> Any:  # noqa: ANN401
        source = self.source.operators[place]
        described = self.program.main.operators[place]
        operator = copy.copy(source)
        operator.inputs = _vector([self._place(index) for index in described.inputs])
        # An output that is replaced by a feed goes somewhere else, where nobody reads it.
        operator.outputs = _vector(
            [self._spare(index) if index in fed else self._place(index)
             for index in described.outputs]
        )  # fmt: skip
        if described.intermediates:
            operator.intermediates = _vector(
                [self._place(index) for index in described.intermediates]
            )
        return operator

    def _place(self, index: int) -> int:
        if index == ABSENT:
            return ABSENT
        if index not in self.places:
            self._add(index)
        return self.places[index]

    def _add(self, index: int, *, fed: bool = False) -> None:
        self.places[index] = len(self._tensors)
        tensor = self._tensor(self.source.tensors[index], empty=fed)
        if fed:
            tensor.isVariable, tensor.sparsity = False, None
        self._tensors.append(tensor)

    def _replace(self, index: int, array: Array) -> None:
        self._add(index, fed=True)
        tensor = self._tensors[-1]
        tensor.shape, tensor.shapeSignature = _vector(array.shape), None
        tensor.buffer = len(self.buffers)
        self.buffers.append(_Buffer(packed(array, self.program.main.tensors[index].dtype)))

    def _spare(self, index: int) -> int:
        self._tensors.append(self._tensor(self.source.tensors[index], empty=True))
        return len(self._tensors) - 1

    def _tensor(self, source: Any, *, empty: bool = False) -> Any:  # noqa: ANN401
        tensor = copy.copy(source)
        tensor.buffer = 0 if empty else self._buffer(source.buffer)
        return tensor

    def _buffer(self, index: int) -> int:
        if index not in self._stored:
            raw = self.program.raw(index)
            self._stored[index] = len(self.buffers) if len(raw) else 0
            if len(raw):
                self.buffers.append(_Buffer(raw))
        return self._stored[index]


def _bodies(program: TfliteProgram, piece: Slice) -> tuple[int, ...]:
    """Every other sub-graph, if any is needed at all: operators know them by number."""
    operators = program.main.operators
    if any(operators[place].bodies for place in piece.operators):
        return tuple(range(1, len(program.graphs)))
    return ()


def _vector(numbers: Sequence[int]) -> Any:  # noqa: ANN401
    return np.asarray(numbers, np.int32)

"""What a TFLite program must satisfy before it is described or run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tflite.blockwise import not_understood
from isomorph.frameworks.tflite.buffers import DTYPES, HANDLES, stored_bytes
from isomorph.frameworks.tflite.program import (
    ABSENT,
    TfliteGraph,
    TfliteOperator,
    TfliteProgram,
    TfliteTensor,
)

MAX_DEPTH = 50
"""Bodies inside bodies beyond which no converter goes."""
MAX_BODIES = 10_000
MAX_ELEMENTS = 1 << 60


def checked(program: TfliteProgram, *, file: str) -> TfliteProgram:
    """The program itself, if every index in it leads somewhere and every value has its size."""
    for graph in program.graphs:
        _check_indices(graph, file)
        for tensor in graph.tensors:
            _check_tensor(program, graph, tensor, file)
        _check_order(graph, file)
    for signature in program.signatures:
        if not 0 <= signature.graph < len(program.graphs):
            raise _bad(file, f"signature {signature.key!r}", "it belongs to no sub-graph")
        size = len(program.graphs[signature.graph].tensors)
        for name, index in (*signature.inputs.items(), *signature.outputs.items()):
            if not 0 <= index < size:
                raise _bad(file, f"signature {signature.key!r}", f"{name!r} is no tensor")
    _check_bodies(program, file)
    return program


def refuse_unreadable(model: Any, *, file: str) -> None:  # noqa: ANN401
    """Turn away what the format allows and nobody here can give a value to."""
    # Schemas of earlier releases have no such field.
    if getattr(model, "externalBuffers", None):
        raise UnreadableModelError(
            "UNSUPPORTED_FORMAT",
            "the model keeps weights in files of their own",
            file=file,
            why="external buffer groups are not read: a path in a model is not followed",
            fix="convert again with the weights inside",
        )
    for graph in model.subgraphs or ():
        for index, tensor in enumerate(graph.tensors or ()):
            why = not_understood(graph, tensor)
            if why is not None:
                raise UnreadableModelError(
                    "UNSUPPORTED_QUANTIZATION",
                    "a tensor is quantized by a method that is not understood",
                    file=file,
                    where=f"tensor {index} {(tensor.name or b'').decode('utf-8', 'replace')!r}",
                    why=f"{why}; scales per tensor, per channel and per block of neighbors "
                    "are understood",
                    fix="quantize again in one of these ways",
                )


def where_of(graph: TfliteGraph, operator: TfliteOperator) -> str:
    """The operator's name, with its sub-graph where that is not the main one."""
    return operator.name if graph.index == 0 else f"sub-graph {graph.index}, {operator.name}"


def _check_indices(graph: TfliteGraph, file: str) -> None:
    size = len(graph.tensors)
    for word, indices in (("input", graph.inputs), ("output", graph.outputs)):
        if any(not 0 <= index < size for index in indices):
            raise _bad(file, f"sub-graph {graph.index}", f"one {word} is no tensor of it")
    for operator in graph.operators:
        read = (index for index in operator.inputs if index != ABSENT)
        inner = (index for index in operator.intermediates if index != ABSENT)
        for index in (*read, *operator.outputs, *inner):
            if not 0 <= index < size:
                raise UnreadableModelError(
                    "DANGLING_INPUT",
                    f"an operator names tensor {index}, and there are {size}",
                    file=file,
                    where=where_of(graph, operator),
                )


def _check_tensor(
    program: TfliteProgram, graph: TfliteGraph, tensor: TfliteTensor, file: str
) -> None:
    where = f"tensor {tensor.name!r}"
    if tensor.dtype not in DTYPES.values():
        raise UnreadableModelError(
            "BAD_DTYPE",
            f"the element type {tensor.dtype!r} is unknown",
            file=file,
            where=where,
            why="the schema has no such number: the file is damaged, or newer than LiteRT",
        )
    # Python's integers do not overflow, as those of the readers behind us may.
    if any(size < 0 for size in tensor.shape) or math.prod(tensor.shape) >= MAX_ELEMENTS:
        raise UnreadableModelError(
            "BAD_DIMS",
            f"no memory can hold the shape {list(tensor.shape)}",
            file=file,
            where=where,
        )
    if not tensor.constant or tensor.dtype in HANDLES:
        return
    raw = program.raw(tensor.buffer)
    declared = stored_bytes(tensor.dtype, tensor.shape)
    if tensor.sparse or declared is None:
        _check_decodes(program, tensor, file, where)
    elif declared != len(raw):
        raise UnreadableModelError(
            "TENSOR_SIZE_MISMATCH",
            f"a constant of {list(tensor.shape)} {tensor.dtype} declares {declared} bytes "
            f"and has {len(raw)}",
            file=file,
            where=where,
        )


def _check_decodes(program: TfliteProgram, tensor: TfliteTensor, file: str, where: str) -> None:
    try:
        program.array(tensor)
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise UnreadableModelError(
            "TENSOR_SIZE_MISMATCH",
            f"the stored {'sparse' if tensor.sparse else 'string'} values do not fit their shape",
            file=file,
            where=where,
            why=str(error),
        ) from error


def _check_order(graph: TfliteGraph, file: str) -> None:
    """Every tensor is there before it is read, and written once: TFLite runs in file order."""
    there = set(graph.inputs)
    there |= {tensor.index for tensor in graph.tensors if tensor.constant or tensor.variable}
    makers = {index: each for each in graph.operators for index in each.outputs}
    for operator in graph.operators:
        for index in operator.inputs:
            if index != ABSENT and index not in there:
                raise _unmade(graph, operator, index, makers.get(index), file)
        for index in operator.outputs:
            if index in there:
                raise UnreadableModelError(
                    "NOT_SSA",
                    f"tensor {graph.tensors[index].name!r} is written although it already "
                    "has a value",
                    file=file,
                    where=where_of(graph, operator),
                )
        there.update(operator.outputs)
    for index in graph.outputs:
        if index not in there:
            raise _bad(file, f"sub-graph {graph.index}", f"output {index} is never computed")


def _unmade(
    graph: TfliteGraph,
    operator: TfliteOperator,
    index: int,
    maker: TfliteOperator | None,
    file: str,
) -> UnreadableModelError:
    name = graph.tensors[index].name
    if maker is not None:
        return UnreadableModelError(
            "GRAPH_CYCLE",
            f"an operator reads {name!r}, which is computed only later",
            file=file,
            where=where_of(graph, operator),
            why=f"it is the output of {maker.name}, and TFLite runs in the order of the file",
        )
    return UnreadableModelError(
        "DANGLING_INPUT",
        f"an operator reads {name!r}, which nothing computes and no buffer holds",
        file=file,
        where=where_of(graph, operator),
    )


def _check_bodies(program: TfliteProgram, file: str) -> None:
    calls = {graph.index: list(_called(program, graph, file)) for graph in program.graphs}
    sizes: dict[int, int] = {}
    for start in calls:
        _descend(start, calls, (), sizes, file)
    # Few sub-graphs that call each other twice are many once they are written out.
    if max(sizes.values()) > MAX_BODIES:
        raise UnreadableModelError(
            "NESTING_TOO_DEEP", f"written out, there are {max(sizes.values())} bodies", file=file
        )


def _called(program: TfliteProgram, graph: TfliteGraph, file: str) -> Iterator[int]:
    for operator in graph.operators:
        for word, index in operator.bodies.items():
            # A missing branch of a composite is written as -1.
            if index == ABSENT:
                continue
            if not 0 < index < len(program.graphs):
                raise _bad(file, where_of(graph, operator), f"its {word} is no sub-graph")
            yield index


def _descend(
    index: int,
    calls: dict[int, list[int]],
    above: tuple[int, ...],
    sizes: dict[int, int],
    file: str,
) -> int:
    if index in above:
        chain = " → ".join(str(each) for each in (*above, index))
        raise UnreadableModelError(
            "RECURSIVE_FUNCTION", "a sub-graph calls itself", file=file, where=f"sub-graphs {chain}"
        )
    if len(above) > MAX_DEPTH:
        raise UnreadableModelError(
            "NESTING_TOO_DEEP", f"sub-graphs call each other more than {MAX_DEPTH} deep", file=file
        )
    if index not in sizes:
        inner = (_descend(each, calls, (*above, index), sizes, file) for each in calls[index])
        sizes[index] = 1 + sum(inner)
    return sizes[index]


def _bad(file: str, where: str, why: str) -> UnreadableModelError:
    return UnreadableModelError(
        "MODEL_TRUNCATED",
        "the file contradicts itself and cannot be whole",
        file=file,
        where=where,
        why=why,
        fix="fetch or convert the file again",
    )

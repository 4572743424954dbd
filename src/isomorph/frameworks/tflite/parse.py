"""From bytes to a program: every index is checked here, before any native code sees the file."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tflite.blockwise import blocks_of
from isomorph.frameworks.tflite.op_options import dtype_of, options_of, words_of
from isomorph.frameworks.tflite.program import (
    TfliteGraph,
    TfliteOperator,
    TfliteProgram,
    TfliteQuantization,
    TfliteSignature,
    TfliteTensor,
    main_signature,
    raw_buffer,
)
from isomorph.frameworks.tflite.validate import checked, refuse_unreadable

# Whatever the schema's classes raise on bytes that are no such table.
_DAMAGE = (
    struct.error, IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError,
    UnicodeError, AssertionError, NotImplementedError,
)  # fmt: skip


def parse(data: Any, *, file: str, path: Path | None = None) -> TfliteProgram:  # noqa: ANN401
    """The program in these bytes (anything with the buffer protocol), or what is wrong with them.

    Arrays of the program are views of ``data``, which must therefore not change.
    """
    try:
        model = schema.ModelT.InitFromPackedBuf(data, 0)
        refuse_unreadable(model, file=file)
        program = _program(model, data, path)
    except _DAMAGE as error:
        raise damaged(len(data), error, file=file) from error
    return checked(program, file=file)


def read_program(model: Any, data: Any, *, file: str, path: Path | None = None) -> TfliteProgram:  # noqa: ANN401
    """The program of schema objects that somebody has edited, checked like one from a file.

    ``data`` is the flatbuffer that those of its buffers lie in which nobody replaced.
    """
    return checked(_program(model, data, path), file=file)


def damaged(size: int, error: BaseException, *, file: str) -> UnreadableModelError:
    """The error for bytes that are no whole flatbuffer."""
    return UnreadableModelError(
        "MODEL_TRUNCATED",
        f"the file is cut short or damaged ({size} bytes)",
        file=file,
        why=f"the flatbuffer cannot be read: {type(error).__name__}: {error}",
        fix="fetch or convert the file again and compare its size with the original's",
    )


def _program(model: Any, data: Any, path: Path | None) -> TfliteProgram:  # noqa: ANN401
    if not model.subgraphs or not model.buffers:
        raise ValueError("there is no sub-graph" if model.buffers else "there are no buffers")
    codes = [_code(code) for code in model.operatorCodes or ()]
    signatures = tuple(_signature(each) for each in model.signatureDefs or ())
    main = main_signature(signatures)
    graphs = tuple(
        _graph(model, data, index, codes, main if index == 0 else None)
        for index in range(len(model.subgraphs))
    )
    return TfliteProgram(
        data=data,
        model=model,
        graphs=graphs,
        signatures=signatures,
        description=text(model.description),
        version=int(model.version),
        metadata={
            text(entry.name): bytes(raw_buffer(model, data, entry.buffer))
            for entry in model.metadata or ()
        },
        path=path,
    )


def text(raw: bytes | str | None) -> str:
    """A string of the schema, which may be missing and need not be UTF-8."""
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw or ""


def _code(code: Any) -> tuple[str, int, bool]:  # noqa: ANN401
    # Old writers know only the first field, which cannot count beyond 127.
    number = max(int(code.deprecatedBuiltinCode), int(code.builtinCode))
    if number == schema.BuiltinOperator.CUSTOM:
        return text(code.customCode) or "CUSTOM", int(code.version), True
    names = words_of(schema.BuiltinOperator)
    return names.get(number, f"BUILTIN_{number}"), int(code.version), False


def _signature(each: Any) -> TfliteSignature:  # noqa: ANN401
    return TfliteSignature(
        key=text(each.signatureKey),
        graph=int(each.subgraphIndex),
        inputs={text(entry.name): int(entry.tensorIndex) for entry in each.inputs or ()},
        outputs={text(entry.name): int(entry.tensorIndex) for entry in each.outputs or ()},
    )


def _graph(
    model: Any,  # noqa: ANN401
    data: Any,  # noqa: ANN401
    index: int,
    codes: list[tuple[str, int, bool]],
    signature: TfliteSignature | None,
) -> TfliteGraph:
    graph = model.subgraphs[index]
    operators = tuple(
        _operator(place, operator, codes) for place, operator in enumerate(graph.operators or ())
    )
    inputs = integers(graph.inputs)
    computed = {tensor for operator in operators for tensor in operator.outputs} | set(inputs)
    names = _names([text(tensor.name) for tensor in graph.tensors or ()], signature)
    return TfliteGraph(
        index=index,
        name=text(graph.name),
        tensors=tuple(
            _tensor(model, data, graph, place, names[place], computed=place in computed)
            for place in range(len(graph.tensors or ()))
        ),
        operators=operators,
        inputs=inputs,
        outputs=integers(graph.outputs),
    )


def integers(vector: Any) -> tuple[int, ...]:  # noqa: ANN401
    """A vector of the schema, which may be missing."""
    return () if vector is None else tuple(int(item) for item in vector)


def _operator(place: int, operator: Any, codes: list[tuple[str, int, bool]]) -> TfliteOperator:  # noqa: ANN401
    name, version, custom = codes[operator.opcodeIndex]
    raw = operator.customOptions
    return TfliteOperator(
        index=place,
        op=name,
        version=version,
        custom=custom,
        inputs=integers(operator.inputs),
        outputs=integers(operator.outputs),
        intermediates=integers(operator.intermediates),
        options=options_of(operator),
        custom_options=b"" if raw is None else bytes(np.asarray(raw, np.uint8)),
    )


def _tensor(
    model: Any,  # noqa: ANN401
    data: Any,  # noqa: ANN401
    subgraph: Any,  # noqa: ANN401
    place: int,
    name: str,
    *,
    computed: bool,
) -> TfliteTensor:
    tensor = subgraph.tensors[place]
    shape, signature = integers(tensor.shape), integers(tensor.shapeSignature)
    filled = len(raw_buffer(model, data, tensor.buffer)) > 0
    # An empty constant has no bytes; it is one all the same if nobody computes it.
    empty = math.prod(shape) == 0 and not computed and not tensor.isVariable
    constant = not tensor.isVariable and (empty or filled)
    ranked = bool(shape) or tensor.hasRank or constant
    return TfliteTensor(
        index=place,
        name=name,
        own_name=text(tensor.name),
        dtype=dtype_of(int(tensor.type)),
        shape=shape,
        signature=(signature if len(signature) == len(shape) else shape) if ranked else None,
        buffer=int(tensor.buffer),
        constant=constant,
        variable=bool(tensor.isVariable),
        quantization=_quantization(tensor.quantization),
        blocks=blocks_of(model, data, subgraph, shape, tensor.quantization),
        sparse=tensor.sparsity is not None,
    )


def _quantization(given: Any) -> TfliteQuantization | None:  # noqa: ANN401
    scales = () if given is None or given.scale is None else tuple(float(s) for s in given.scale)
    if not scales:
        return None
    zeros = integers(given.zeroPoint) or (0,) * len(scales)
    return TfliteQuantization(
        scales=scales,
        zero_points=zeros if len(zeros) == len(scales) else zeros[:1] * len(scales),
        axis=int(given.quantizedDimension) if len(scales) > 1 else None,
    )


def _names(own: list[str], signature: TfliteSignature | None) -> list[str]:
    """One name per tensor: the signature's, else the file's, with its index where that repeats."""
    chosen = _from_signature(signature) if signature is not None else {}
    counts = Counter(own)
    taken = set(chosen.values())
    free = {name for name, count in counts.items() if name and count == 1} - taken
    names: list[str] = []
    for place, name in enumerate(own):
        if place in chosen:
            names.append(chosen[place])
            continue
        unique = name if name in free else f"{name or 'tensor'}#{place}"
        while unique != name and (unique in free or unique in taken):
            unique += "#"
        taken.add(unique)
        names.append(unique)
    return names


def _from_signature(signature: TfliteSignature) -> Mapping[int, str]:
    found: dict[int, str] = {}
    for part in (signature.inputs, signature.outputs):
        for name, index in part.items():
            # An input and an output may have the same name and be different tensors.
            if index not in found and name not in found.values():
                found[index] = name
    return found

"""The neutral description of a TFLite program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.model import Constant, Graph, Node, Quantization, Source, TensorSpec
from isomorph.frameworks.tflite.buffers import HANDLES
from isomorph.frameworks.tflite.op_names import neutral
from isomorph.frameworks.tflite.program import ABSENT
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.frameworks.tflite.program import (
        TfliteGraph,
        TfliteOperator,
        TfliteProgram,
        TfliteTensor,
    )


def describe(program: TfliteProgram) -> Graph:
    """The main sub-graph with its bodies; outputs under every name that the signature gives."""
    graph = _graph(program, program.main, "", {})
    specs = dict(graph.tensors)
    for name, index in program.aliases.items():
        specs[name] = spec_of(program.main.tensors[index], name)
    outputs = tuple(specs[name] for name in output_names(program))
    return replace(graph, outputs=outputs, tensors=specs)


def output_names(program: TfliteProgram) -> tuple[str, ...]:
    """One name per output in the file's order, no name twice."""
    called: dict[int, list[str]] = {}
    for name, index in (program.signature.outputs if program.signature else {}).items():
        if program.index[name] == index:
            called.setdefault(index, []).append(name)
    names = [
        name
        for index in program.main.outputs
        for name in called.get(index, [program.main.tensors[index].name])
    ]
    return tuple(dict.fromkeys(names))


def spec_of(tensor: TfliteTensor, name: str | None = None) -> TensorSpec:
    """What is declared of one tensor; handles have no element type."""
    shape = tensor.signature
    return TensorSpec(
        name=name or tensor.name,
        dtype=None if tensor.dtype in HANDLES else tensor.dtype,
        shape=None if shape is None else tuple(None if size < 0 else size for size in shape),
        kind=tensor.dtype if tensor.dtype in HANDLES else "tensor",
    )


def notes_on(program: TfliteProgram) -> tuple[str, ...]:
    """What a user should know about the file."""
    notes = []
    others = [each.key for each in program.signatures if each is not program.signature]
    if others:
        used = program.signature.key if program.signature else "none"
        notes.append(
            f"the file has further signatures ({', '.join(others)}); the one compared is {used!r}"
        )
    variables = [tensor.name for tensor in program.main.tensors if tensor.variable]
    if variables:
        notes.append(
            f"{len(variables)} state tensors begin every run at zero and are described as "
            f"constants: {', '.join(variables[:4])}{', …' if len(variables) > 4 else ''}"
        )
    for name, index in program.aliases.items():
        notes.append(f"output {name!r} is the same tensor as {program.main.tensors[index].name!r}")
    return tuple(notes)


def _graph(
    program: TfliteProgram, graph: TfliteGraph, prefix: str, known: dict[int, Constant]
) -> Graph:
    specs = {tensor.name: spec_of(tensor) for tensor in graph.tensors}
    constants = {
        tensor.name: _constant(program, tensor, known, body=bool(prefix))
        for tensor in graph.tensors
        if tensor.constant or tensor.variable
    }
    return Graph(
        name=graph.name,
        inputs=tuple(specs[graph.tensors[index].name] for index in graph.inputs),
        outputs=tuple(specs[graph.tensors[index].name] for index in graph.outputs),
        nodes=tuple(_node(program, graph, each, prefix, known) for each in graph.operators),
        tensors=specs,
        constants=constants,
        quantization=tuple(
            entry for tensor in graph.tensors if (entry := _quantization(graph, tensor)) is not None
        ),
        framework="tflite",
    )


def _constant(
    program: TfliteProgram, tensor: TfliteTensor, known: dict[int, Constant], *, body: bool
) -> Constant:
    """Two tensors often share one buffer, which is then digested once."""
    if tensor.variable:
        return constant_of(tensor.name, np.zeros(tensor.shape, numpy_dtype(tensor.dtype)))
    seen = known.get(tensor.buffer)
    if seen is not None and (seen.dtype, seen.shape) == (tensor.dtype, tensor.shape):
        return replace(seen, name=tensor.name)
    array = program.array(tensor)
    assert array is not None, "only stored tensors are constants"
    made = constant_of(tensor.name, array, body=body)
    if tensor.buffer and not tensor.sparse:
        known[tensor.buffer] = made
    return made


def _node(
    program: TfliteProgram,
    graph: TfliteGraph,
    operator: TfliteOperator,
    prefix: str,
    known: dict[int, Constant],
) -> Node:
    name = f"{prefix}{operator.name}"
    tensors = graph.tensors
    return Node(
        name=name,
        op=neutral(operator.op),
        native_op=f"custom::{operator.op}" if operator.custom else operator.op,
        inputs=tuple("" if index == ABSENT else tensors[index].name for index in operator.inputs),
        outputs=tuple(tensors[index].name for index in operator.outputs),
        attributes=_attributes(operator),
        bodies={
            key: _graph(program, program.graphs[index], f"{name}/{key}#0/", known)
            for key, index in operator.bodies.items()
            if index != ABSENT
        },
        source=_source(graph, operator),
    )


def _attributes(operator: TfliteOperator) -> Mapping[str, object]:
    # The places of its bodies in the file are no part of what an operator does.
    places = ("_subgraph_index", "_subgraph_indices")
    kept = {
        key: value
        for key, value in operator.options.items()
        if not key.endswith(places) and key != "subgraph"
    }
    return {**kept, "custom_options": operator.custom_options.hex()} if operator.custom else kept


def _quantization(graph: TfliteGraph, tensor: TfliteTensor) -> Quantization | None:
    given, blocks = tensor.quantization, tensor.blocks
    if blocks is not None:
        return Quantization(
            tensor=tensor.name,
            dtype=tensor.dtype,
            scale=(),
            zero_point=(),
            axis=len(tensor.shape) - 1,
            block=blocks.size,
            scales=graph.tensors[blocks.tensor].name,
        )
    if given is None:
        return None
    return Quantization(
        tensor=tensor.name,
        dtype=tensor.dtype,
        scale=given.scales,
        zero_point=given.zero_points,
        axis=given.axis,
    )


def _source(graph: TfliteGraph, operator: TfliteOperator) -> Source | None:
    """The converter joins the names of all that it fused: ``net/conv/Relu;net/conv/BiasAdd``."""
    joined = graph.tensors[operator.outputs[0]].own_name if operator.outputs else ""
    first = joined.partition(";")[0]
    module, _, _ = first.rpartition("/")
    return Source(module=module or None, text=joined) if joined else None

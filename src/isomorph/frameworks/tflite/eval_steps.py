"""A TFLite program made ready to run: one step per operator, its kernel and its grids found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from isomorph.frameworks.tflite.eval_control import RULES
from isomorph.frameworks.tflite.op_facts import (
    AS_STORED,
    BIASES,
    CELLS,
    CONTROL,
    DISCRETE,
    EXACT,
    LSTM_CELLS,
    QUANTIZED,
    SELECTS,
    SHAPE_ONLY,
)
from isomorph.frameworks.tflite.oracle_step import Key, Part, TfliteStep, grid_of
from isomorph.frameworks.tflite.program import (
    ABSENT,
    TfliteGraph,
    TfliteOperator,
    TfliteProgram,
    TfliteTensor,
)
from isomorph.kernels import registry
from isomorph.kernels.tflite.activations import TFLITE
from isomorph.kernels.tflite.error_bounds import reach_of
from isomorph.kernels.tflite.quantized import Grid
from isomorph.oracle.call import Kernel
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.unsupported import refuse_undefined
from isomorph.oracle.value import EvalValue
from isomorph.oracle.weights import WeightCache


def compiled(program: TfliteProgram, *, file: str | None = None) -> tuple[Part, ...]:
    """Every sub-graph that the main one reaches; an operator without a kernel is refused.

    Sub-graphs that nothing reaches are empty.
    """
    registry.load_all()
    reached = set(_reached(program, 0))
    weights: WeightCache[Key] = WeightCache(lambda key: _stored_value(program, key))
    parts: list[Part] = []
    for graph in program.graphs:
        run = graph.index in reached
        steps = tuple(_step(graph, each, weights, parts) for each in graph.operators if run)
        parts.append(_part(graph, steps, weights))
    _refuse_unsupported(parts, file)
    return tuple(parts)


def _reached(program: TfliteProgram, start: int) -> Iterator[int]:
    yield start
    for operator in program.graphs[start].operators:
        for body in operator.bodies.values():
            if body != ABSENT:
                yield from _reached(program, body)


def _part(graph: TfliteGraph, steps: tuple[TfliteStep, ...], weights: WeightCache[Key]) -> Part:
    return Part(
        index=graph.index,
        tensors=graph.tensors,
        inputs=graph.inputs,
        outputs=graph.outputs,
        steps=steps,
        weights=weights,
    )


def _stored_value(program: TfliteProgram, key: Key) -> EvalValue:
    part, tensor = key
    declared = program.graphs[part].tensors[tensor]
    array = program.array(declared)
    if array is None:
        raise LookupError(f"{declared.name} has no stored value")
    return EvalValue(array, dtype=declared.dtype, constant=True)


def _step(
    graph: TfliteGraph,
    operator: TfliteOperator,
    weights: WeightCache[Key],
    parts: Sequence[Part],
) -> TfliteStep:
    op = operator.op
    given = [None if i == ABSENT else graph.tensors[i] for i in operator.inputs]
    made = [graph.tensors[i] for i in operator.outputs]
    grids = [_grid(tensor, op) for tensor in given]
    onto = [_grid(tensor, op) for tensor in made]
    place = BIASES.get(op)
    if place is not None and place < len(given):
        grids[place] = _bias_grid(op, given[place], grids)
    states = [tensor for tensor in given if tensor is not None and tensor.variable]
    cell = _cell_grids(graph, operator, given, onto)
    attributes = {
        **operator.options,
        "output_dtypes": tuple(tensor.dtype for tensor in made),
        "output_shapes": tuple(tensor.shape for tensor in made),
        **cell,
    }
    return TfliteStep(
        index=operator.index,
        name=operator.name,
        op=op,
        version=operator.version,
        inputs=operator.inputs,
        outputs=operator.outputs,
        attributes=attributes,
        rule=RULES.get(op),
        shape_only=op in SHAPE_ONLY,
        discrete=op in DISCRETE,
        exact=op in EXACT and not any(grid is not None for grid in (*grids, *onto)),
        disturbable=any(map(is_inexact_number, attributes.values())),
        part=graph.index,
        parts=parts,
        weights=weights,
        kernel=_kernel(operator, given, grids),
        input_dtypes=tuple(None if tensor is None else tensor.dtype for tensor in given),
        grids=tuple(grids),
        onto=tuple(onto),
        states=tuple(((graph.index, tensor.index), tensor.dtype) for tensor in states),
        state_grids=tuple(_grid(tensor, op) for tensor in states),
        bodies=operator.bodies if op in CONTROL else {},
        keeps=bool(cell) or (op in SELECTS and _one_grid(grids, onto)),
        reach=reach_of(op, grids, onto, operator.options),
    )


def _grid(tensor: TfliteTensor | None, op: str) -> Grid | None:
    if tensor is None or op in AS_STORED:
        return None
    biases = ("int32", "int64") if op in CELLS else ()
    return grid_of(tensor) if tensor.dtype in QUANTIZED or tensor.dtype in biases else None


def _bias_grid(op: str, bias: TfliteTensor | None, grids: Sequence[Grid | None]) -> Grid | None:
    """An integer bias counts in products of the two scales, whatever it declares of its own."""
    x, w = _factors(op, grids)
    if bias is None or bias.dtype not in ("int32", "int64") or x is None or w is None:
        return None
    scale = x.scale * w.scale
    zero = np.zeros(scale.shape)
    return Grid(dtype=bias.dtype, scale=scale, zero_point=zero, axis=0 if scale.size > 1 else None)


def _cell_grids(
    graph: TfliteGraph,
    operator: TfliteOperator,
    given: Sequence[TfliteTensor | None],
    onto: Sequence[Grid | None],
) -> dict[str, Any]:
    """Where a quantized LSTM keeps its integers between two steps: hidden, output, cell."""
    if operator.op not in LSTM_CELLS or not onto or onto[0] is None or len(given) < 20:
        return {}
    inner = operator.intermediates
    hidden = _grid(graph.tensors[inner[4]], operator.op) if len(inner) > 4 else None
    return {"cell_grids": (hidden, onto[0], _grid(given[19], operator.op))}


def _kernel(
    operator: TfliteOperator, given: Sequence[TfliteTensor | None], grids: Sequence[Grid | None]
) -> Kernel | None:
    """None, too, where a quantized cell does not declare the grids of its biases."""
    if operator.custom:
        return registry.find(TFLITE, operator.op, operator.version)  # if a user defines it
    pairs = zip(given, grids, strict=True)
    bare = any(t is not None and t.dtype == "int32" and grid is None for t, grid in pairs)
    if operator.op in CELLS and bare:
        return None
    return registry.find(TFLITE, operator.op, operator.version)


def _factors(op: str, grids: Sequence[Grid | None]) -> tuple[Grid | None, Grid | None]:
    x, w = (2, 1) if op == "TRANSPOSE_CONV" else (0, 1)
    return (grids[x], grids[w]) if len(grids) > max(x, w) else (None, None)


def _one_grid(grids: Sequence[Grid | None], onto: Sequence[Grid | None]) -> bool:
    """Whether every quantized tensor of the operator, input and output, has the same grid."""
    given, made = ([grid for grid in each if grid is not None] for each in (grids, onto))
    return bool(given and made) and all(given[0].equals(grid) for grid in (*given, *made))


def _refuse_unsupported(parts: Sequence[Part], file: str | None) -> None:
    missing: dict[str, list[str]] = {}
    for part in parts:
        for step in part.steps:
            if step.kernel is None and step.rule is None:
                missing.setdefault(step.op, []).append(step.name)
    refuse_undefined(
        missing,
        file=file,
        why="it is a custom operator, or a builtin one that we have no kernel for",
        fix="define it with isomorph.op and --ops, or convert the model with "
        "builtin operators only",
    )

"""The neutral description of an ExecuTorch program, the nodes of its XNNPACK delegates included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from isomorph.core.digest import constant_of
from isomorph.core.model import Constant, Graph, Node, Quantization, TensorSpec
from isomorph.frameworks.executorch.program import PteNode, PteProgram, PteTensor, Slot


def describe(program: PteProgram) -> Graph:
    """Nodes, tensors and constants of the method."""
    specs = {name: _spec(tensor) for name, tensor in program.tensors.items()}
    return Graph(
        name=program.method,
        inputs=tuple(specs[name] for name in program.inputs),
        outputs=tuple(specs[name] for name in program.outputs if name),
        nodes=tuple(map(_node, program.nodes)),
        tensors=specs,
        constants=dict(_constants(program)),
        quantization=tuple(_quantization(program)),
        framework="executorch",
    )


def notes_on(program: PteProgram) -> tuple[str, ...]:
    """What a user should know about the file."""
    notes = []
    others = [name for name in program.methods if name != program.method]
    if others:
        notes.append(
            f"the file has further methods ({', '.join(others)}); "
            f"the one compared is {program.method!r}"
        )
    states = [tensor.name for tensor in program.tensors.values() if tensor.mutable]
    if states:
        notes.append(
            f"{len(states)} states are described as the constants that a run begins with: "
            f"{', '.join(states[:4])}{', …' if len(states) > 4 else ''}"
        )
    if program.given:
        notes.append(
            f"{len(program.given)} inputs are plain numbers and stay as they were exported"
        )
    return tuple(notes)


def _spec(tensor: PteTensor) -> TensorSpec:
    return TensorSpec(name=tensor.name, dtype=tensor.dtype, shape=tensor.shape)


def _node(node: PteNode) -> Node:
    return Node(
        name=node.name,
        op=node.op,
        native_op=node.native_op,
        inputs=node.inputs,
        outputs=node.outputs,
        attributes=_stated(node.attributes),
    )


def _stated(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """All that the file states; what a run computes is an input."""
    return {
        name: value
        for name, value in attributes.items()
        if not isinstance(value, Slot)
        and not (isinstance(value, tuple) and any(isinstance(each, Slot) for each in value))
    }


def _constants(program: PteProgram) -> Iterator[tuple[str, Constant]]:
    for name, tensor in program.tensors.items():
        array = tensor.array()
        if array is not None:
            yield name, constant_of(name, array)


def _quantization(program: PteProgram) -> Iterator[Quantization]:
    for tensor in program.tensors.values():
        grid = tensor.grid
        if grid is not None and not grid.block:
            scale = np.atleast_1d(grid.scale)
            zero = np.broadcast_to(np.atleast_1d(grid.zero_point), scale.shape)
            yield Quantization(
                tensor=tensor.name,
                dtype=grid.dtype,
                scale=tuple(scale.tolist()),
                zero_point=tuple(zero.astype(np.int64).tolist()),
                axis=grid.axis,
            )

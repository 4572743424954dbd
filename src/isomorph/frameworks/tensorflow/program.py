"""A TensorFlow model as one frozen graph: what is described, cut, run and evaluated.

Variables have become constants, calls are inlined, and control edges are gone, so every
top-level node is a real operation. The bodies of loops and branches are programs of their own.
Tensors are named ``op`` for an operation's first output and ``op:1``, ``op:2`` … for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from isomorph.core.cutting import walk_back
from isomorph.core.errors import UnreadableModelError
from isomorph.core.ordering import CircleError, dependencies_first
from isomorph.frameworks.tensorflow.attributes import array_of, attributes_of, functions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What is known of a tensor.

    ``kind`` is ``sequence`` for a TensorList, whose dtype and shape are those of its elements,
    and ``other`` for resources.
    """

    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None
    kind: str = "tensor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One input or output: its name in the signature, and the operation's tensor."""

    name: str
    tensor: str
    spec: Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class TfNode:
    """One operation. ``functions`` maps attributes (``body``, ``branches[0]``) to functions."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    functions: Mapping[str, str] = field(default_factory=dict)
    definition: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TfProgram:
    """A frozen graph. ``nodes`` hold neither constants nor inputs, and are in topological order.

    ``graph_def`` is the same as TensorFlow's own message, with the library of functions that the
    bodies need. ``unordered``: the outputs were a dict, which has no order of its own.
    """

    name: str
    graph_def: Any
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: tuple[TfNode, ...]
    constants: Mapping[str, np.ndarray[Any, Any]]
    specs: Mapping[str, Spec]
    functions: Mapping[str, TfProgram]
    unordered: bool = False


def tensor_name(reference: str) -> str:
    """``op`` for the references ``op`` and ``op:0``; ``op:2`` stays."""
    return reference.removesuffix(":0")


def native_name(tensor: str) -> str:
    """TensorFlow's own name of a tensor: ``op:0`` for ``op``."""
    operation, index = place_of(tensor)
    return f"{operation}:{index}"


def place_of(tensor: str) -> tuple[str, int]:
    """The operation, and which of its outputs."""
    operation, colon, index = tensor.rpartition(":")
    return (operation, int(index)) if colon and index.isdigit() else (tensor, 0)


def read_nodes(graph_def: Any, outputs: Iterable[str] = ()) -> tuple[TfNode, ...]:  # noqa: ANN401
    """Every operation that is neither a constant nor an input, each after what it reads.

    They come as the ``outputs`` need them: the order in a file is an accident of its writer.
    """
    ordered = sorted_definitions(graph_def, outputs)
    used = _highest_outputs(graph_def)
    return tuple(
        _node(definition, used.get(definition.name, -1))
        for definition in ordered
        if definition.op not in {"Const", "Placeholder"}
    )


def _node(definition: Any, used: int) -> TfNode:  # noqa: ANN401
    attributes = attributes_of(definition)
    count = output_count(definition)
    names = range(used + 1 if count is None else count)
    return TfNode(
        name=definition.name,
        op=definition.op,
        inputs=tuple(tensor_name(each) for each in definition.input if not each.startswith("^")),
        outputs=tuple(definition.name if k == 0 else f"{definition.name}:{k}" for k in names),
        attributes=attributes,
        functions=functions_of(attributes),
        definition=definition,
    )


def output_count(definition: Any) -> int | None:  # noqa: ANN401
    """How many tensors an operation gives; None for one that TensorFlow does not know."""
    declared = op_def_registry.get(definition.op)
    if declared is None:
        return None
    return sum(size for _, size in output_sizes(definition, declared))


def output_sizes(definition: Any, declared: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401
    """The declared outputs of an operator, and how many tensors each of them is here."""
    for argument in declared.output_arg:
        if argument.number_attr:
            yield argument.name, int(definition.attr[argument.number_attr].i)
        elif argument.type_list_attr:
            yield argument.name, len(definition.attr[argument.type_list_attr].list.type)
        else:
            yield argument.name, 1


def _highest_outputs(graph_def: Any) -> dict[str, int]:  # noqa: ANN401
    highest: dict[str, int] = {}
    for definition in graph_def.node:
        highest.setdefault(definition.name, 0)
        for reference in definition.input:
            operation, index = place_of(reference.removeprefix("^"))
            highest[operation] = max(highest.get(operation, 0), index)
    return highest


def sorted_definitions(graph_def: Any, outputs: Iterable[str] = ()) -> list[Any]:  # noqa: ANN401
    """The NodeDefs, each after those it reads, what ``outputs`` need first; never recursive."""
    by_name = {definition.name: definition for definition in graph_def.node}
    first = (*(place_of(tensor)[0] for tensor in outputs), *by_name)
    try:
        names = list(dependencies_first(first, lambda name: _read(by_name, by_name[name])))
    except CircleError as error:
        raise UnreadableModelError(
            "GRAPH_CYCLE", "the graph runs in a circle", where=" → ".join(error.circle)
        ) from error
    return [by_name[name] for name in names]


def _read(by_name: Mapping[str, Any], definition: Any) -> list[str]:  # noqa: ANN401
    read = [place_of(each.removeprefix("^"))[0] for each in definition.input]
    for name in read:
        if name not in by_name:
            raise UnreadableModelError(
                "DANGLING_INPUT", "a node reads a tensor that nothing makes",
                where=f"node {definition.name!r} reads {name!r}",
            )  # fmt: skip
    if definition.op == "Merge":
        # The loops of TensorFlow 1 run in a circle by design, and close it here.
        read = [name for name in read if by_name[name].op != "NextIteration"]
    return read


def read_constants(graph_def: Any) -> dict[str, np.ndarray[Any, Any]]:  # noqa: ANN401
    """Every stored value by its tensor's name."""
    return {
        definition.name: array_of(definition.attr["value"].tensor)
        for definition in graph_def.node
        if definition.op == "Const"
    }


def needed(graph_def: Any, wanted: Iterable[str], fed: Iterable[str] = ()) -> set[str]:  # noqa: ANN401
    """The operations that ``wanted`` tensors need when the ``fed`` tensors are given."""
    by_name = {definition.name: definition for definition in graph_def.node}

    def maker(tensor: str) -> str | None:
        operation, _ = place_of(tensor)
        return operation if operation in by_name else None

    def reads(operation: str) -> list[str]:
        return [tensor_name(each.removeprefix("^")) for each in by_name[operation].input]

    return walk_back(wanted, set(fed), maker, reads)[0]


def part_of(graph_def: Any, names: set[str]) -> Any:  # noqa: ANN401
    """A copy with only these operations, and the functions of the whole."""
    part = tf.compat.v1.GraphDef()
    part.versions.CopyFrom(graph_def.versions)
    part.library.CopyFrom(graph_def.library)
    part.node.extend(definition for definition in graph_def.node if definition.name in names)
    return part

"""Calls of functions replaced by what the functions do, so that no node hides others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tensorflow.function_bodies import Signatures, body_of
from isomorph.frameworks.tensorflow.program import native_name, place_of, tensor_name

_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_SWITCHES = frozenset({"Enter", "RefEnter", "Switch", "RefSwitch"})
_DEEPEST = 64
"""Functions nested deeper than this call themselves, or were made by nobody honest."""


def inline_calls(graph_def: Any, outputs: list[str]) -> tuple[Any, list[str]]:  # noqa: ANN401
    """The graph, changed in place, without calls and control edges; where its outputs have gone.

    What is inlined is named after its call: ``call/conv``. The loops of TensorFlow 1 keep their
    control edges: those alone determine which loop a constant belongs to.
    """
    library = {each.signature.name: each for each in graph_def.library.function}
    flat = graph_def
    if not switched(flat):
        for node in flat.node:
            _drop_control(node)
    for _ in range(_DEEPEST):
        if not any(_called(node, library) for node in flat.node):
            return flat, outputs
        flat, outputs = _inline_once(flat, outputs, library)
    raise UnreadableModelError(
        "RECURSIVE_FUNCTION", "a function calls itself",
        where=next(n.name for n in flat.node if _called(n, library))[:200],
    )  # fmt: skip


def switched(graph_def: Any) -> bool:  # noqa: ANN401
    """Whether loops and branches are drawn with the switches of TensorFlow 1."""
    return any(node.op in _SWITCHES for node in graph_def.node)


def _drop_control(node: Any) -> None:  # noqa: ANN401
    data = [reference for reference in node.input if not reference.startswith("^")]
    if len(data) < len(node.input):
        del node.input[:]
        node.input.extend(data)


def _called(node: Any, library: Mapping[str, Any]) -> str | None:  # noqa: ANN401
    if node.op in _CALLS:
        return str(node.attr["f"].func.name)
    return str(node.op) if node.op in library else None


def _inline_once(
    graph_def: Any,  # noqa: ANN401
    outputs: list[str],
    library: Mapping[str, Any],
) -> tuple[Any, list[str]]:
    flat = tf.compat.v1.GraphDef()
    flat.versions.CopyFrom(graph_def.versions)
    flat.library.CopyFrom(graph_def.library)
    moved: dict[str, str] = {}
    signatures = {name: function.signature for name, function in library.items()}
    for node in graph_def.node:
        called = _called(node, library)
        if called is None:
            flat.node.add().CopyFrom(node)
            continue
        if called not in library:
            raise UnreadableModelError(
                "MISSING_FUNCTION", "a node calls a function that the file does not hold",
                where=f"node {node.name!r} calls {called!r}",
            )  # fmt: skip
        moved.update(_paste(flat, node, library[called], signatures))
    for node in flat.node:
        for place, reference in enumerate(node.input):
            node.input[place] = follow(moved, reference)
    return flat, [tensor_name(follow(moved, tensor)) for tensor in outputs]


def _paste(flat: Any, call: Any, function: Any, signatures: Signatures) -> dict[str, str]:  # noqa: ANN401
    """Add the function's nodes; attributes and control inputs of the call apply to them."""
    body, inputs, results = body_of(function, signatures)
    moved = {
        native_name(f"{call.name}/{name}"): native_name(tensor_name(given))
        for name, given in zip(inputs, call.input, strict=True)
    }
    for node in body.node:
        if node.name in inputs:
            continue
        copy = flat.node.add()
        copy.CopyFrom(node)
        _drop_control(copy)
        copy.name = f"{call.name}/{node.name}"
        for place, reference in enumerate(copy.input):
            copy.input[place] = f"{call.name}/{reference}"
    for place, result in enumerate(results):
        moved[f"{call.name}:{place}"] = native_name(f"{call.name}/{result}")
    return moved


def follow(moved: Mapping[str, str], reference: str) -> str:
    """Where a reference leads after everything that was moved."""
    if reference.startswith("^"):
        return f"^{place_of(follow(moved, reference[1:]))[0]}"
    operation, index = place_of(reference)
    name = f"{operation}:{index}"
    while name in moved:
        name = moved[name]
    return tensor_name(name)

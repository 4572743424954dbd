"""A part of a program as a function: from whatever is fed to whatever is fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from isomorph.core.cutting import unknown_tensor
from isomorph.core.errors import UsageError
from isomorph.frameworks.tensorflow.function_library import Library
from isomorph.frameworks.tensorflow.inline import switched
from isomorph.frameworks.tensorflow.program import (
    TfProgram,
    native_name,
    needed,
    part_of,
    tensor_name,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The tensors a function takes and gives, in its order."""

    takes: tuple[str, ...]
    gives: tuple[str, ...]
    call: Callable[..., Sequence[Any]]


def cut(
    program: TfProgram,
    library: Library,
    feeds: frozenset[str],
    fetch: Sequence[str],
    *,
    compiled: bool,
) -> Cut:
    """Only what lies between; nothing above a fed tensor is kept."""
    _refuse_unknown(program, (*feeds, *fetch))
    gives = tuple(dict.fromkeys(name for name in fetch if name not in feeds))
    part = library.adopt(part_of(program.graph_def, needed(program.graph_def, gives, feeds)))
    _refuse_unfed(part)
    read = {tensor_name(each) for node in part.node for each in node.input}
    takes = tuple(sorted(feeds & read))
    wanted = [native_name(name) for name in gives]

    def body(*tensors: Any) -> Any:  # noqa: ANN401
        fed = {native_name(name): tensor for name, tensor in zip(takes, tensors, strict=True)}
        return tf.graph_util.import_graph_def(part, input_map=fed, return_elements=wanted, name="")

    return Cut(takes=takes, gives=gives, call=_traced(body, part, compiled=compiled))


def _traced(
    body: Callable[..., Any],
    part: Any,  # noqa: ANN401
    *,
    compiled: bool,
) -> Callable[..., Sequence[Any]]:
    """The body as a graph, traced once for each shape."""
    function = tf.function(body, autograph=False, jit_compile=True if compiled else None)
    old = switched(part)
    traces: dict[tuple[Any, ...], Any] = {}

    def call(*tensors: Any) -> Sequence[Any]:  # noqa: ANN401
        specs = tuple(tf.TensorSpec.from_tensor(tensor) for tensor in tensors)
        if specs not in traces:
            # tf.function orders what has effects by control edges, which must not leave a loop of
            # TensorFlow 1. Asked for directly, a new shape is no retracing to be warned about.
            traces[specs] = (
                tf.compat.v1.wrap_function(body, list(specs))
                if old
                else function.get_concrete_function(*specs)
            )
        results: Sequence[Any] = traces[specs](*tensors)
        return results

    return call


def _refuse_unknown(program: TfProgram, names: Sequence[str]) -> None:
    there = {name for node in program.nodes for name in node.outputs}
    there |= set(program.constants) | {port.tensor for port in program.inputs}
    for name in names:
        if name not in there:
            raise unknown_tensor(name, there)


def _refuse_unfed(part: Any) -> None:  # noqa: ANN401
    missing = sorted(node.name for node in part.node if node.op == "Placeholder")
    if missing:
        raise UsageError(
            "MISSING_INPUT", "what was fetched depends on an input that was not fed",
            where=", ".join(missing[:5]), fix="feed it, or feed a tensor further down",
        )  # fmt: skip

"""A part of a TensorFlow program, or a body inside it, as a frozen graph of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from isomorph.core.cutting import find_body, incomplete_piece
from isomorph.frameworks.tensorflow.program import (
    TfProgram,
    native_name,
    needed,
    part_of,
    tensor_name,
)

if TYPE_CHECKING:
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays

_ILLEGAL = re.compile(r"[^A-Za-z0-9_.]")


def piece_of(program: TfProgram, piece: Piece, feeds: Arrays) -> Any:  # noqa: ANN401
    """The GraphDef: placeholders first, in the order of the piece, its outputs last."""
    prefix = ""
    if piece.node is not None:
        program, prefix = _find(program, str(piece.node), str(piece.body))
    given = [name.removeprefix(prefix) for name in piece.feeds]
    wanted = [name.removeprefix(prefix) for name in piece.fetch]
    inner = part_of(program.graph_def, needed(program.graph_def, wanted, given))
    _refuse_unfed(inner, given)
    taken = {node.name for node in inner.node}
    whole = tf.compat.v1.GraphDef()
    whole.versions.CopyFrom(inner.versions)
    whole.library.CopyFrom(inner.library)
    renamed = {}
    for name, full in zip(given, piece.feeds, strict=True):
        renamed[name] = _free(name, taken)
        _placeholder(whole, renamed[name], np.asarray(feeds[full]))
    for node in inner.node:
        # Where an input stands in a body, the placeholder above is it.
        if node.name in given and node.op == "Placeholder":
            continue
        copy = whole.node.add()
        copy.CopyFrom(node)
        for place, reference in enumerate(node.input):
            copy.input[place] = renamed.get(tensor_name(reference), reference)
    types = {name: spec.dtype for name, spec in program.specs.items()}
    for name in wanted:
        identity = whole.node.add(name=_free(f"{name}.out", taken), op="Identity")
        identity.input.append(renamed.get(name, native_name(name)))
        identity.attr["T"].type = tf.as_dtype(types.get(name) or "float32").as_datatype_enum
    return whole


def _placeholder(graph: Any, name: str, example: np.ndarray[Any, Any]) -> None:  # noqa: ANN401
    node = graph.node.add(name=name, op="Placeholder")
    kind = tf.string if example.dtype.kind in "OUS" else tf.as_dtype(example.dtype)
    node.attr["dtype"].type = kind.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tf.TensorShape(example.shape).as_proto())


def _free(wanted: str, taken: set[str]) -> str:
    """A legal name that nobody has; it is taken from now on."""
    legal = _ILLEGAL.sub("_", wanted)
    legal = legal if legal[:1].isalnum() else f"n{legal}"
    name, count = legal, 1
    while name in taken:
        name, count = f"{legal}_{count}", count + 1
    taken.add(name)
    return name


def _refuse_unfed(part: Any, given: Iterable[str]) -> None:  # noqa: ANN401
    fed = set(given)
    missing = [n.name for n in part.node if n.op == "Placeholder" and n.name not in fed]
    if missing:
        raise incomplete_piece(missing[0])


def _find(program: TfProgram, node: str, body: str) -> tuple[TfProgram, str]:
    """The body's program, and what the description puts before its names."""

    def bodies(inner: TfProgram) -> Iterator[tuple[str, str, int, TfProgram]]:
        for each in inner.nodes:
            for place, (key, function) in enumerate(each.functions.items()):
                yield each.name, key, place, program.functions[function]

    path, prefix = find_body(program, node, body, bodies)
    return path[-1], prefix

"""Which inputs of a decoder take what its outputs returned at the step before.

A pair is what the user states; or it follows from the two names, from the data flow (the output
is the input with new positions written to it), or from the order of what is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.decoding import CachedBy, CachePair
from isomorph.core.decoding_limits import FOLLOWED_CACHE_NODES
from isomorph.core.errors import UsageError, listed
from isomorph.core.model import Model, OutputOrder
from isomorph.inputs.masks import TRANSPARENT

if TYPE_CHECKING:
    from isomorph.core.model import Dimension, Graph, Node, TensorSpec

_LEAST_RANK = 3
_USUAL_RANK = 4
_BEFORE = frozenset({"past", "prev", "old", "in", "input", "inputs"})
_AFTER = frozenset({"present", "new", "next", "updated", "out", "output", "outputs"})
_OF_CACHES = frozenset({"cache", "caches", "kv", "state", "states", "self", "values"})
_WRITERS = frozenset({"Concat", "ScatterElements", "ScatterND", "Scatter", "Where", "Pad"})
"""Operators that return an input with new positions: behind it, or in its place."""
_WRITING_WORDS = ("index_put", "index_copy", "slice_scatter", "select_scatter", "scatter")
"""In the names of such operators that have no neutral name."""
_PARTS = {"key": "key", "keys": "key", "k": "key", "value": "value", "v": "value",
          "values": "value", "encoder": "encoder", "decoder": "decoder", "cross": "encoder",
          "conv": "conv"}  # fmt: skip


def recognized_caches(model: Model, stated: Mapping[str, str]) -> tuple[CachePair, ...]:
    """The caches of a model, in the order of its inputs; ``stated`` are output by input."""
    graph = model.graph
    inputs = [spec for spec in graph.inputs if _may_be_cache(spec)]
    outputs = [spec for spec in graph.outputs if _may_be_cache(spec)]
    pairs = {
        name: (output, CachedBy.USER)
        for name, output in stated.items()
        if _has(graph.inputs, name) and _has(graph.outputs, output)
    }
    named = model.output_order is not OutputOrder.UNNAMED
    steps = (
        *(((CachedBy.NAME, _by_name),) if named else ()),
        (CachedBy.DATA_FLOW, _by_data_flow),
        (CachedBy.ORDER, _by_order),
    )
    for how, search in steps:
        taken = {output for output, _ in pairs.values()}
        left = [spec for spec in inputs if spec.name not in pairs]
        right = [spec for spec in outputs if spec.name not in taken]
        pairs.update({name: (output, how) for name, output in search(graph, left, right)})
    handed_on = set(constant_caches(graph))
    return _described(graph, {name: pair for name, pair in pairs.items() if name not in handed_on})


def constant_caches(graph: Graph) -> list[str]:
    """Inputs that look like caches and are returned as they are: those of an encoder."""
    makers = {name: node for node in graph.nodes for name in node.outputs if name}
    origins = {_origin(makers, spec.name) for spec in graph.outputs}
    return [spec.name for spec in graph.inputs if _may_be_cache(spec) and spec.name in origins]


def length_axis(graph: Graph, taken: TensorSpec, returned: TensorSpec) -> int:
    """The axis of a cache that its positions are on."""
    left, right = taken.shape or (), returned.shape or ()
    writer = _writer(graph, returned.name, {taken.name})
    if writer is not None and writer.op == "Concat":
        axis = writer.attributes.get("axis", writer.attributes.get("dim"))
        if isinstance(axis, int):
            return axis % max(len(left), 1)
    differing = [at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b]
    if len(differing) == 1:
        return differing[0]
    free = [at for at, size in enumerate(left) if not isinstance(size, int) and at > 0]
    if len(free) == 1:
        return free[0]
    # Heads, positions, width of a head: the usual order of the last three axes.
    return max(len(left) - 2, 0)


def unpaired_inputs(graph: Graph, pairs: Sequence[CachePair]) -> list[str]:
    """Inputs that look like caches, and that no output was recognized for."""
    known = {pair.input for pair in pairs}
    return [name for name in cache_inputs(graph) if name not in known]


def cache_inputs(graph: Graph) -> list[str]:
    """Inputs that look like caches."""
    return [
        spec.name
        for spec in graph.inputs
        if _may_be_cache(spec)
        and len(spec.shape or ()) >= _USUAL_RANK
        and "mask" not in spec.name.lower()
    ]


def only_read(graph: Graph, names: Iterable[str]) -> list[str]:
    """Which of these inputs are read, and no node writes new positions to: they stay as they are.

    A cache whose output was left out of a model is joined with new positions all the same.
    """
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in dict.fromkeys(node.inputs):
            readers.setdefault(name, []).append(node)
    return [name for name in names if name in readers and not _is_written(graph, readers, name)]


def _is_written(graph: Graph, readers: Mapping[str, Sequence[Node]], name: str) -> bool:
    """Whether a node adds positions to an input, behind nodes that only rearrange it."""
    layer = [name]
    for _ in range(FOLLOWED_CACHE_NODES):
        following = [(tensor, node) for tensor in layer for node in readers.get(tensor, ())]
        passing = [
            node
            for tensor, node in following
            if node.op in TRANSPARENT or _joins_nothing(graph, node, tensor)
        ]
        if any(_adds(node) for _, node in following if node not in passing):
            return True
        layer = [out for node in passing for out in node.outputs]
        if not layer:
            return False
    return True  # what is not followed to its end may be written to


def _joins_nothing(graph: Graph, node: Node, tensor: str) -> bool:
    """Whether a node joins a tensor with empty ones only: how a cache begins in transformers."""
    if node.op != "Concat":
        return False
    others = [graph.tensors.get(name) for name in node.inputs if name != tensor]
    return all(spec is not None and 0 in (spec.shape or ()) for spec in others)


def _adds(node: Node) -> bool:
    """Whether a node writes to one of its inputs; an attention that returns no cache does not."""
    return _writes(node) and ("attention" not in node.native_op.lower() or len(node.outputs) > 1)


def refuse_unknown_names(stated: Mapping[str, str], *models: Model) -> None:
    """Raise a ``UsageError`` for a stated pair that neither model has."""
    for name, output in stated.items():
        if not any(
            _has(model.graph.inputs, name) and _has(model.graph.outputs, output) for model in models
        ):
            seen = [_missing(model.graph, name, output) for model in models]
            raise UsageError(
                "UNKNOWN_NAME",
                f"--cache {name}={output}: no model has such an input and output",
                why="; ".join(
                    f"in the {role}, {text}"
                    for role, text in zip(("reference", "candidate"), seen, strict=False)
                ),
            )


def _missing(graph: Graph, name: str, output: str) -> str:
    """The names of a model among which a stated one is not: inputs, or outputs."""
    if _has(graph.inputs, name):
        return f"output {output!r} is none of {listed([spec.name for spec in graph.outputs])}"
    return f"input {name!r} is none of {listed([spec.name for spec in graph.inputs])}"


def _has(specs: Sequence[TensorSpec], name: str) -> bool:
    return any(spec.name == name for spec in specs)


def _may_be_cache(spec: TensorSpec) -> bool:
    number = spec.dtype is None or spec.dtype.startswith(("float", "bfloat", "int8", "uint8"))
    return spec.kind == "tensor" and number and len(spec.shape or ()) >= _LEAST_RANK


def _fits(left: TensorSpec, right: TensorSpec) -> bool:
    """Whether one may become the other: the same rank and type, and one axis that grows."""
    if left.shape is None or right.shape is None or len(left.shape) != len(right.shape):
        return False
    known = [
        (a, b)
        for a, b in zip(left.shape, right.shape, strict=True)
        if isinstance(a, int) and isinstance(b, int)
    ]
    return left.dtype == right.dtype and sum(a != b for a, b in known) <= 1


def _by_name(
    graph: Graph, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> Iterator[tuple[str, str]]:
    """Names that are equal without what tells the input from the output."""
    for spec in inputs:
        key = _key(spec.name, _BEFORE)
        found = [each for each in outputs if _key(each.name, _AFTER) == key and _fits(spec, each)]
        rivals = [each for each in inputs if _key(each.name, _BEFORE) == key]
        if len(found) == 1 and len(rivals) == 1:
            yield spec.name, found[0].name


def _key(name: str, side: frozenset[str]) -> tuple[str, ...]:
    name = re.sub(r"(past|present)_key_values?", r"\1", name.lower())
    words = [word for word in re.split(r"[^a-z0-9]+|(?<=[a-z])(?=\d)", name) if word]
    return tuple(sorted(word for word in words if word not in side | _OF_CACHES))


def _by_data_flow(
    graph: Graph, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> Iterator[tuple[str, str]]:
    """Outputs that are one of the inputs with new positions."""
    specs = {spec.name: spec for spec in inputs}
    taken: set[str] = set()
    for spec in outputs:
        writer = _writer(graph, spec.name, specs)
        found = [] if writer is None else list(_written_inputs(graph, writer, spec.name, specs))
        fitting = [name for name in found if name not in taken and _fits(specs[name], spec)]
        if len(fitting) == 1:
            taken.add(fitting[0])
            yield fitting[0], spec.name


def _writer(graph: Graph, output: str, inputs: Mapping[str, object] | set[str]) -> Node | None:
    """The node that writes new positions of an output, behind nodes that only rearrange it."""
    makers = {name: node for node in graph.nodes for name in node.outputs if name}
    tensor = output
    for _ in range(FOLLOWED_CACHE_NODES):
        node = makers.get(tensor)
        if node is None:
            return None
        if any(_origin(makers, name) in inputs for name in node.inputs) and _writes(node):
            return node
        if node.op not in TRANSPARENT and not _writes(node):
            return None
        tensor = node.inputs[0]
    return None


def _writes(node: Node) -> bool:
    native = node.native_op.lower()
    return (
        node.op in _WRITERS
        or "attention" in native
        or any(word in native for word in _WRITING_WORDS)
    )


def _written_inputs(
    graph: Graph, writer: Node, output: str, inputs: Mapping[str, object]
) -> Iterator[str]:
    """The caches that a node takes; of several, the one at the place of the output."""
    makers = {name: node for node in graph.nodes for name in node.outputs if name}
    found = [
        origin for name in writer.inputs if (origin := _origin(makers, name)) in inputs and origin
    ]
    returned = [name for name in writer.outputs[1:] if name]
    if len(found) > 1 and output in returned and len(returned) == len(found):
        found = [found[returned.index(output)]]
    yield from dict.fromkeys(found)


def _origin(makers: Mapping[str, Node], tensor: str) -> str:
    """The tensor that a chain of rearrangements starts with."""
    for _ in range(FOLLOWED_CACHE_NODES):
        node = makers.get(tensor)
        if node is None or node.op not in TRANSPARENT or not node.inputs:
            return tensor
        tensor = node.inputs[0]
    return tensor


def _by_order(
    graph: Graph, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> Iterator[tuple[str, str]]:
    """What is left on both sides, if it is as many and every pair fits."""
    left = [spec for spec in inputs if len(spec.shape or ()) >= _USUAL_RANK]
    right = [spec for spec in outputs if len(spec.shape or ()) >= _USUAL_RANK]
    if len(left) != len(right) or not all(map(_fits, left, right)):
        return
    yield from ((one.name, other.name) for one, other in zip(left, right, strict=True))


def _described(graph: Graph, pairs: Mapping[str, tuple[str, CachedBy]]) -> tuple[CachePair, ...]:
    """The pairs in the order of the inputs, each with its axis, layer and part."""
    outputs = {spec.name: spec for spec in graph.outputs}
    found = [
        CachePair(
            input=spec.name,
            output=pairs[spec.name][0],
            axis=length_axis(graph, spec, outputs[pairs[spec.name][0]]),
            layer=0,
            part=_part(spec.name),
            how=pairs[spec.name][1],
        )
        for spec in graph.inputs
        if spec.name in pairs
    ]
    numbers = [re.findall(r"\d+", pair.input) for pair in found]
    if all(numbers):
        return tuple(
            replace(pair, layer=int(number[0]), part=pair.part or _numbered_part(number))
            for pair, number in zip(found, numbers, strict=True)
        )
    # Without numbers, keys and values of one layer follow each other.
    together = 2 if len(found) % 2 == 0 else 1
    return tuple(replace(pair, layer=at // together) for at, pair in enumerate(found))


def _part(name: str) -> str:
    plain = re.sub(r"(past|present)_key_values?", "", name.lower())
    words = re.split(r"[^a-z]+", plain)
    return " ".join(dict.fromkeys(_PARTS[word] for word in words if word in _PARTS))


def _numbered_part(numbers: Sequence[str]) -> str:
    """``past_key_values_3_0`` is a key, and ``past_key_values_3_1`` a value."""
    return {"0": "key", "1": "value"}.get(numbers[1], "") if len(numbers) > 1 else ""


def fixed_length(size: Dimension, other: Dimension) -> bool:
    """Whether an axis of a cache has one size before and after a step: a buffer."""
    return isinstance(size, int) and size == other

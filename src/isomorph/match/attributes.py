"""Attributes of corresponding nodes that differ, found without running anything.

Nodes of one operator correspond in the order in which they are computed. That is a guess, so a
difference says nothing by itself: an input has to show it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.messages import message
from isomorph.core.ops import BUILT_IN_LIMITS

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Model, Node

# One meaning under two names: another framework's word, then ONNX's.
SAME_MEANING = {
    "eps": "epsilon", "dim": "axis", "negative_slope": "alpha", "padding": "pads",
    "stride": "strides", "dilation": "dilations", "kernel_size": "kernel_shape",
    "groups": "group", "keepdim": "keepdims", "descending": "largest", "ksize": "kernel_shape",
    "rates": "dilations", "pad": "pads", "value": "constant_value", "diagonal": "k",
    "lambda": "lambd", "dims": "axes", "permutation": "perm",
}  # fmt: skip
_MEANING = {**SAME_MEANING, "min_val": "min", "max_val": "max"}
_AXES = frozenset({"axis", "axes"})
_NO_EFFECT = frozenset(
    {"to", "dtype", "saturate", "stash_type", "momentum", "seed", "training_mode", "ratio",
     "output_dtype", "consumed_inputs", "accuracy_level"}
)  # fmt: skip
"""Attributes that state a type or a precision, or that inference does not use."""
_MOST_WRITTEN = 60
"""Characters of a value in a sentence; of a longer one the first element that differs is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeDifference:
    """An attribute of a node of the candidate, and its value in the reference's node.

    ``holder`` is the node of the model whose body holds the node, where it is in one.
    """

    node: Node
    counterpart: Node
    name: str
    expected: Any = field(repr=False)
    actual: Any = field(repr=False)
    holder: Node | None = None

    @property
    def shown(self) -> tuple[str, str]:
        """The reference's value and the candidate's as text."""
        return _shown(self.expected, self.actual)

    @property
    def values(self) -> str:
        """The two values as text: ``0.1 against 0.2``."""
        expected, actual = self.shown
        return message("difference.attribute_values", right=expected, now=actual)

    @property
    def text(self) -> str:
        """The difference as text for a report."""
        return message(
            "difference.attribute", name=self.name, node=self.node.name, values=self.values
        )


def attribute_differences(reference: Model, candidate: Model) -> list[AttributeDifference]:
    """Return the attributes that differ between corresponding nodes, in the candidate's order.

    Between two frameworks only single numbers are compared, those that have one meaning in both.
    """
    one_framework = reference.framework == candidate.framework
    functions = reference.graph.functions, candidate.graph.functions
    found = _differences(reference.graph, candidate.graph, one_framework, None, functions)
    # A function that is called twice is one function.
    return list({(id(each.node), each.name): each for each in found}.values())


def first_difference(node: Node, counterpart: Node) -> AttributeDifference | None:
    """Return the first attribute in which two nodes differ, or two nodes of their bodies."""
    one_framework = node.native_op == counterpart.native_op
    found = _of_nodes(node, counterpart, {}, one_framework=one_framework)
    return next(chain(found, _in_bodies(node, counterpart, one_framework, None)), None)


def node_differences(
    node: Node, counterpart: Node, graphs: tuple[Graph, Graph], *, one_framework: bool
) -> list[AttributeDifference]:
    """Return every attribute that two nodes state differently; ``graphs`` are the reference first.

    Unlike ``attribute_differences`` this takes the pair as given.
    """
    ranks = {"expected": _rank(counterpart, graphs[0]), "actual": _rank(node, graphs[1])}
    return list(_of_nodes(node, counterpart, ranks, one_framework=one_framework))


def same_values(one: Any, two: Any) -> bool:  # noqa: ANN401
    """Whether two values of an attribute are the same once stored in float32."""
    return _equal(one, two)


def shown_values(expected: Any, actual: Any) -> tuple[str, str]:  # noqa: ANN401
    """Write two values, shortened to the first elements that differ where they are long."""
    return _shown(expected, actual)


def in_common_words(name: str) -> str:
    """The name of an attribute as ONNX spells it, where it has one there."""
    return _MEANING.get(name, name)


_Functions = tuple[Mapping[str, "Graph"], Mapping[str, "Graph"]]
"""The functions that nodes call, by their operator: those of the reference and the candidate."""
_NONE: _Functions = ({}, {})


def _differences(
    reference: Graph,
    candidate: Graph,
    one_framework: bool,  # noqa: FBT001
    holder: Node | None,
    functions: _Functions,
) -> Iterator[AttributeDifference]:
    for node, counterpart in paired_nodes(reference, candidate, one_framework=one_framework):
        ranks = {"expected": _rank(counterpart, reference), "actual": _rank(node, candidate)}
        for each in _of_nodes(node, counterpart, ranks, one_framework=one_framework):
            yield replace(each, holder=holder)
        yield from _in_bodies(node, counterpart, one_framework, holder, functions)


def _in_bodies(
    node: Node,
    counterpart: Node,
    one_framework: bool,  # noqa: FBT001
    holder: Node | None,
    functions: _Functions = _NONE,
) -> Iterator[AttributeDifference]:
    """Yield the differences inside bodies, and inside the functions that the two nodes call."""
    pairs = [(counterpart.bodies.get(key), body) for key, body in node.bodies.items()]
    called = functions[1].get(node.native_op)
    if called is not None:
        pairs.append((functions[0].get(counterpart.native_op), called))
    for other, body in pairs:
        if other is not None:
            yield from _differences(other, body, one_framework, holder or node, functions)


def paired_nodes(
    reference: Graph, candidate: Graph, *, one_framework: bool = True
) -> Iterator[tuple[Node, Node]]:
    """Pair the candidate's nodes of each operator with the reference's by their order.

    They are paired by name where some are missing.
    """
    sides: list[dict[str, list[Node]]] = [{}, {}]
    for graph, grouped in zip((reference, candidate), sides, strict=True):
        for node in graph.nodes:
            grouped.setdefault(node.native_op if one_framework else node.op, []).append(node)
    for op, nodes in sides[1].items():
        others = sides[0].get(op, [])
        if len(nodes) == len(others):
            yield from zip(nodes, others, strict=True)
        else:
            by_name = {node.name: node for node in others}
            yield from ((node, by_name[node.name]) for node in nodes if node.name in by_name)


def _of_nodes(
    node: Node, counterpart: Node, ranks: Mapping[str, int | None], *, one_framework: bool
) -> Iterator[AttributeDifference]:
    stated = {_MEANING.get(name, name): value for name, value in counterpart.attributes.items()}
    for name, actual in node.attributes.items():
        word = _MEANING.get(name, name)
        if word not in stated or word in _NO_EFFECT:
            continue
        expected = stated[word]
        if not one_framework and not (_is_number(actual) and _is_number(expected)):
            continue
        same = _equal(expected, actual) or (word in _AXES and _same_axes(expected, actual, ranks))
        if not same:
            yield AttributeDifference(
                node=node, counterpart=counterpart, name=name, expected=expected, actual=actual
            )


def digest(*values: object) -> str:
    """Hash the values of attributes in full, to identify a difference in a baseline."""
    return hashlib.sha256("\n".join(map(_in_full, values)).encode()).hexdigest()[:32]


def _in_full(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_in_full(each)}' for key, each in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_in_full, value))}]"
    return repr(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rank(node: Node, graph: Graph) -> int | None:
    """Return the rank of what a node reads first, where it is declared."""
    spec = graph.tensors.get(node.inputs[0]) if node.inputs else None
    return len(spec.shape) if spec is not None and spec.shape is not None else None


def _same_axes(expected: Any, actual: Any, ranks: Mapping[str, int | None]) -> bool:  # noqa: ANN401
    """Whether axes are the same counted from the start; a rank that is unknown is the other's."""
    here, there = ranks.get("expected"), ranks.get("actual")
    return _equal(_from_start(expected, here or there), _from_start(actual, there or here))


def _from_start(value: Any, rank: int | None) -> Any:  # noqa: ANN401
    """Count axes from the start, where the rank is known."""
    if isinstance(value, (list, tuple)):
        return [_from_start(each, rank) for each in value]
    return value % rank if isinstance(value, int) and rank else value


def _equal(one: Any, two: Any) -> bool:  # noqa: ANN401
    """Whether two values are the same once stored in float32."""
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return np.array_equal(np.asarray(one), np.asarray(two))
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        return len(one) == len(two) and all(map(_equal, one, two))
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        if isinstance(one, int) and isinstance(two, int):
            return int(one) == int(two)
        with np.errstate(over="ignore"):
            return bool(np.float32(one) == np.float32(two)) or bool(np.isnan(one) and np.isnan(two))
    if isinstance(one, str) and isinstance(two, str):
        return one.lower() == two.lower()
    return bool(one == two)


def _shown(expected: Any, actual: Any) -> tuple[str, str]:  # noqa: ANN401
    """Write two values, shortened to the first elements that differ where they are long."""
    texts = _written(expected), _written(actual)
    if max(map(len, texts)) <= _MOST_WRITTEN:
        return texts
    if isinstance(expected, Sequence) and isinstance(actual, Sequence):
        for one, two in zip(expected, actual, strict=False):
            if not _equal(one, two):
                return _shown(one, two)
    return texts[0][:_MOST_WRITTEN], texts[1][:_MOST_WRITTEN]


def _written(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    return str(value)


def apart_in_lists(expected: object, actual: object) -> list[tuple[float, float]]:
    """Return the finite numbers at the same places of two lists that differ; none for others."""
    if not isinstance(expected, (list, tuple)) or not isinstance(actual, (list, tuple)):
        return []
    if len(expected) != len(actual) or not all(map(_is_float, (*expected, *actual))):
        return []
    pairs = zip(expected, actual, strict=True)
    return [(float(one), float(two)) for one, two in pairs if not _equal(one, two)]


def _is_float(value: object) -> bool:
    return isinstance(value, float) and bool(np.isfinite(value))


def numbers_of(node: Node) -> set[float]:
    """Return the finite numbers other than zero among the single attributes of a node.

    The limit of a fused activation is one of them.
    """
    values = [
        BUILT_IN_LIMITS.get(v, v) if isinstance(v, str) else v for v in node.attributes.values()
    ]
    return {float(v) for v in values if _is_number(v) and np.isfinite(v) and v}

"""Inputs that were made up, and on which two spellings of one function differ.

An input that nobody gave may leave what a model is for: numbers overflow, a negative number has no
logarithm, and large numbers saturate until a decision has only ties. A difference that is seen
there alone is none of the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.measure.overflow import overflows

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Arrays
    from isomorph.measure.evaluated_model import EvaluatedModel

_ORDERING: dict[str, Callable[..., Any] | None] = {
    "ArgMax": np.max, "Hardmax": np.max, "ArgMin": np.min, "TopK": None, "Sort": None,
}  # fmt: skip
"""Operators whose result depends on the order of numbers, and which of them they select."""

_Sides = tuple["EvaluatedModel", "EvaluatedModel"]


def out_of_range(sides: _Sides, given: _Sides) -> bool:
    """Whether numbers of either model leave the range of floats, and not on the ``given`` input.

    On a larger input a tensor with a NaN counts as well: what underflowed is divided by zero.
    """
    beyond = larger(sides[0].feeds, given[0].feeds)
    pairs = zip(sides, given, strict=True)
    return any(overflows(here, there, undefined=beyond) for here, there in pairs)


def outside_domain(sides: _Sides, given: _Sides) -> bool:
    """Whether two models may differ here only because one of them is not made for this input.

    One spelling of a function may need positive numbers, and another not. Two may break ties
    differently that a decision does not have on the ``given`` input.
    """
    pairs = zip(sides, given, strict=True)
    if any(overflows(here, there, undefined=True) for here, there in pairs):
        return True
    return any(map(_more_ties, sides, given))


def larger(feeds: Arrays, given: Arrays) -> bool:
    """Whether a real number of an input is larger than all that were given for it."""
    return any(
        _largest(value) > _largest(given[name]) for name, value in feeds.items() if name in given
    )


def _largest(values: object) -> float:
    """Return the largest size of a real number; zero for other inputs."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return 0.0
    return float(np.max(np.abs(values), initial=0.0))


def _more_ties(model: EvaluatedModel, given: EvaluatedModel) -> bool:
    """Whether a node that orders numbers reads more equal ones than on the given input.

    The sigmoids of 40 and of 50 are one number, even in float64.
    """
    oracle, graph = model.oracle(), model.model.graph
    made = {name for node in graph.nodes for name in node.outputs}
    orders = [node for node in graph.nodes if node.op in _ORDERING and node.input(0) in made]
    if not orders or oracle.capabilities.fetch != "all":
        return False
    read = list(dict.fromkeys(node.input(0) for node in orders))
    here, there = (oracle.run(each.feeds, read) for each in (model, given))
    both = [(node, here[node.input(0)], there[node.input(0)]) for node in orders]
    return any(_ties(node, now) > _ties(node, before) for node, now, before in both)


def _ties(node: Node, values: object) -> int:
    """How many numbers are equal to one that is selected; for an order of all, to any other."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return 0
    best = _ORDERING[node.op]
    if best is None:
        return int(values.size - np.unique(values).size)
    axis = node.attributes.get("axis", node.attributes.get("dim", 0))
    along = axis if isinstance(axis, int) and -values.ndim <= axis < values.ndim else None
    equal = values == best(values, axis=along, keepdims=True)
    return int(np.sum(np.count_nonzero(equal, axis=along) - 1))

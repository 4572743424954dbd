"""Inputs that were made up, and on which two spellings of one function differ.

An input that nobody gave may leave what a model is for: numbers overflow, a negative number has no
logarithm, and large numbers saturate until a decision has only ties. A difference that is seen
there alone is none of the functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.measure.overflow import overflows
from isomorph.measure.precision import jumping_nodes

if TYPE_CHECKING:
    from isomorph.core.trace import Arrays
    from isomorph.measure.evaluated_model import EvaluatedModel

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

    One spelling of a function may need positive numbers, and another not. On a larger input a
    decision may have ties that it does not have on the ``given`` one.
    """
    pairs = zip(sides, given, strict=True)
    if any(overflows(here, there, undefined=True) for here, there in pairs):
        return True
    return larger(sides[0].feeds, given[0].feeds) and any(map(_saturates, sides, given))


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


def _saturates(model: EvaluatedModel, given: EvaluatedModel) -> bool:
    """Whether a node that decides reads more equal numbers than on the given input.

    The sigmoids of 40 and of 50 are one number, even in float64.
    """
    oracle = model.oracle()
    names = {name for node in jumping_nodes(model.model.graph) for name in node.inputs}
    made = {name for node in model.model.graph.nodes for name in node.outputs}
    read = sorted(names & made)
    if not read or oracle.capabilities.fetch != "all":
        return False
    here, there = (oracle.run(each.feeds, read) for each in (model, given))
    return any(_repeats(here[name]) > _repeats(there[name]) for name in read)


def _repeats(values: object) -> int:
    """How many of these real numbers are there more than once."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return 0
    return int(values.size - np.unique(values).size)

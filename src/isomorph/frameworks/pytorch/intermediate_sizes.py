"""The largest intermediate of an elementwise operator: the size its rounding is relative to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from isomorph.frameworks.pytorch.bound_arguments import array
from isomorph.frameworks.pytorch.rounding_classes import (
    AT_LEAST_ONE,
    DIFFERENCES,
    HARDWARE,
    INPUT,
    NEGATIVE_SIDE,
    ONE,
    OWN,
    PRODUCTS,
)

EXACTLY = object()
"""The size of a rounding that does not happen."""

_Size = Callable[[Mapping[str, Any], Any], Any]


def size_rule(word: str) -> _Size | None:
    """From the arguments by name and the result to that size; None for an unknown operator.

    The size is None itself for a single operation of the hardware, rounded at its result.
    """
    for words, rule in (
        (HARDWARE, _once), (OWN, _own), (ONE, _one), (AT_LEAST_ONE, _at_least_one),
        (INPUT, _input), (PRODUCTS, _product), (DIFFERENCES, _largest),
        (NEGATIVE_SIDE, _negative_side),
    ):  # fmt: skip
        if word in words:
            return rule
    return None


def _once(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return None


def _own(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return np.abs(array(result))


def _one(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return 1.0


def _at_least_one(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    first = result[0] if isinstance(result, (tuple, list)) else result
    return np.maximum(1.0, np.abs(array(first)))


def _input(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return np.abs(array(given["self"]))


def _product(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    factor = given.get("other")
    if isinstance(factor, torch.Tensor) and factor.dim() == 0:
        factor = factor.item()
    # A power of two changes the exponent alone.
    if isinstance(factor, (int, float)) and factor and math.frexp(abs(factor))[0] == 0.5:
        return EXACTLY
    return None if isinstance(result, torch.Tensor) else EXACTLY


def _largest(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    if not isinstance(result, torch.Tensor):
        return EXACTLY
    factor = given.get("alpha", 1)
    operands = [value for name, value in given.items() if name not in {"alpha", "value"}]
    if factor == 1 and len(operands) <= 2:
        return None
    # With a factor, or three operands, something was rounded before it was added.
    sizes = [np.abs(array(value)) for value in operands if isinstance(value, torch.Tensor)]
    sizes += [np.float64(abs(value)) for value in operands if isinstance(value, (int, float))]
    return np.maximum.reduce(np.broadcast_arrays(np.abs(array(result)), *sizes))


def _negative_side(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return np.where(array(given["self"]) < 0, np.abs(array(result)), 0.0)

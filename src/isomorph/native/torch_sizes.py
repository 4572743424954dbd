"""The largest intermediate of an elementwise operator: the size its rounding is relative to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from isomorph.native.torch_bound import array
from isomorph.native.torch_words import (
    AT_LEAST_ONE,
    DIFFERENCES,
    INPUT,
    NEGATIVE_SIDE,
    ONE,
    OWN,
    PRODUCTS,
)

_Size = Callable[[Mapping[str, Any], Any], Any]


def size_rule(word: str) -> _Size | None:
    """From the arguments by name and the result to that size; None for an unknown operator."""
    for words, rule in (
        (OWN, _own), (ONE, _one), (AT_LEAST_ONE, _at_least_one), (INPUT, _input),
        (PRODUCTS, _product), (DIFFERENCES, _largest), (NEGATIVE_SIDE, _negative_side),
    ):  # fmt: skip
        if word in words:
            return rule
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
        return None
    return np.abs(array(result)) if isinstance(result, torch.Tensor) else None


def _largest(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    if not isinstance(result, torch.Tensor):
        return None
    largest = np.abs(array(result))
    alpha = given.get("alpha", 1)
    for name, value in given.items():
        if name in {"alpha", "value"}:
            continue
        factor = abs(float(alpha)) if name == "other" else 1.0
        if isinstance(value, torch.Tensor):
            largest = np.maximum(largest, factor * np.abs(array(value)))
        elif isinstance(value, (int, float)):
            largest = np.maximum(largest, factor * abs(value))
    return largest


def _negative_side(given: Mapping[str, Any], result: Any) -> Any:  # noqa: ANN401
    return np.where(array(given["self"]) < 0, np.abs(array(result)), 0.0)

"""Sums of many terms, disturbed by their length and the sizes of what is added."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from isomorph.frameworks.pytorch.bound_arguments import (
    array,
    axes_of,
    bound,
    each_float,
    on_floats,
    tensor,
)
from isomorph.frameworks.pytorch.operand_devices import call_on_one_device
from isomorph.frameworks.pytorch.program import Step
from isomorph.oracle.noise import NoiseSource
from isomorph.oracle.rounding_rules import steepest


def disturbed_sum(
    step: Step, word: str, arguments: list[Any], named: dict[str, Any], source: NoiseSource
) -> Any:  # noqa: ANN401
    """The step's result with the rounding of its sums."""
    result = call_on_one_device(step, list(arguments), dict(named))
    given = bound(step, arguments, named)

    def magnitude() -> Any:  # noqa: ANN401
        sizes = [_sized(value) for value in arguments]
        factors = {key: abs(each) if key in {"alpha", "beta"} else _sized(each)
                   for key, each in named.items()}  # fmt: skip
        return array(call_on_one_device(step, sizes, factors))

    if word == "logsumexp":
        return each_float(
            result, lambda value: source.rounded(array(value), np.maximum(1.0, abs(array(value))))
        )
    length = _length(word, given, result)
    noisy = each_float(result, lambda value: source.reduced(array(value), magnitude, length))
    if word.startswith(("upsample", "_upsample")):
        return _shifted(given, noisy, source)
    return noisy


def _sized(value: Any) -> Any:  # noqa: ANN401
    # Negative factors (alpha, beta) count by their size too; integers are sizes and axes.
    if isinstance(value, float):
        return abs(value)
    return on_floats(value, torch.abs)


def _length(word: str, given: Mapping[str, Any], result: Any) -> int:  # noqa: ANN401
    weight = given.get("weight")
    if word.startswith(("conv", "_conv")) and isinstance(weight, torch.Tensor):
        transposed = "transpose" in word or bool(given.get("transposed"))
        channels = (
            weight.shape[0] // max(int(given.get("groups", 1)), 1)
            if transposed
            else weight.shape[1]
        )
        return int(channels * math.prod(weight.shape[2:]))
    if word == "einsum":
        return _einsum_length(given)
    operands = [value for value in given.values() if isinstance(value, torch.Tensor)]
    if word in {"cumsum", "cumprod"}:
        return (
            int(operands[0].shape[axes_of(given["dim"], operands[0].dim())[0]])
            if operands[0].dim()
            else 1
        )
    if word in {"linear", "mm", "bmm", "matmul", "mv", "dot", "vdot", "inner"}:
        return int(operands[0].shape[-1]) if operands[0].dim() else 1
    if word in {"addmm", "baddbmm", "addbmm", "addmv"}:
        return int(operands[1].shape[-1])
    if word.startswith(("upsample", "_upsample")):
        return 16 if "cubic" in word else 4
    outputs = result.numel() if isinstance(result, torch.Tensor) else 1
    return max(1, int(operands[0].numel()) // max(1, outputs))


def _einsum_length(given: Mapping[str, Any]) -> int:
    left, _, kept = str(given["equation"]).replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for term, operand in zip(left.split(","), given["tensors"], strict=True):
        letters = term.replace("...", "")
        if len(letters) == operand.dim() or "..." in term:
            # The ellipsis stands for the axes that are left over.
            sizes.update(zip(letters[::-1], list(operand.shape)[::-1], strict=False))
    return int(math.prod(size for letter, size in sizes.items() if letter not in kept)) or 1


def _shifted(given: Mapping[str, Any], result: Any, source: NoiseSource) -> Any:  # noqa: ANN401
    """Interpolation reads at coordinates that were rounded, unless the scale is exact."""
    value = array(result)
    before = given.get("input", given.get("self"))
    for axis in range(2, value.ndim):
        wide, narrow = value.shape[axis], before.shape[axis]
        scale = (narrow - 1) / max(wide - 1, 1) if given.get("align_corners") else narrow / wide
        if wide < 2 or float(np.float32(scale)) == scale:
            continue
        slope = steepest(value, axis)
        if scale > 1.0 and narrow > 1:
            # Results that lie far apart in the input do not show how steep it is between them.
            within = steepest(np.asarray(array(before), np.float64), axis)
            steepness = np.max(within, axis=tuple(range(2, within.ndim)), keepdims=True)
            slope = np.maximum(slope, scale * steepness)
        place = np.arange(wide, dtype=np.float64).reshape([-1] + [1] * (value.ndim - axis - 1))
        value = source.rounded(value, slope * place)
    return tensor(value)

"""StableHLO's sums of products: any contraction, and convolution in any layout."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.matmul import product
from isomorph.kernels.normalization import along, scaled
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.stablehlo.elementwise import STABLEHLO
from isomorph.kernels.stablehlo.movement import padded
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.noise import Array


@kernel("dot_general", domain=STABLEHLO)
def dot_general(call: Call, a: Array, b: Array) -> Array:
    """Summed over some axes of both, element by element over others."""
    numbers: Mapping[str, Any] = call.attributes["dot_dimension_numbers"]
    left, right = (
        (integers(numbers[f"{side}_batching_dimensions"]),
         integers(numbers[f"{side}_contracting_dimensions"]))
        for side in ("lhs", "rhs")
    )  # fmt: skip
    target = str(call.attributes["output_dtypes"][0])
    if not is_float(target):
        a, b = (each.astype(numpy_dtype(target)) for each in (a, b))
    batch = [a.shape[axis] for axis in left[0]]
    rows, columns = _free(a, left), _free(b, right)
    length = math.prod(a.shape[axis] for axis in left[1])
    first = a.transpose(*left[0], *rows, *left[1])
    second = b.transpose(*right[0], *right[1], *columns)
    shape = [*batch, *(a.shape[axis] for axis in rows), *(b.shape[axis] for axis in columns)]
    height = math.prod(a.shape[axis] for axis in rows)
    lead = [math.prod(batch)] if batch else []
    width = math.prod(b.shape[axis] for axis in columns)
    y = product(
        np.ascontiguousarray(first).reshape(*lead, height, length),
        np.ascontiguousarray(second).reshape(*lead, length, width),
        call.noise,
    )
    return y.reshape(shape)


def _free(x: Array, bound: tuple[Sequence[int], Sequence[int]]) -> list[int]:
    return [axis for axis in range(x.ndim) if axis not in bound[0] and axis not in bound[1]]


@kernel("convolution", domain=STABLEHLO)
def convolution(call: Call, x: Array, w: Array) -> Array:
    """Channels first, gaps between inputs written out, then as ONNX's ``Conv``."""
    attributes = call.attributes
    numbers: Mapping[str, Any] = attributes["dimension_numbers"]
    rank = x.ndim - 2
    if int(attributes.get("batch_group_count", 1)) != 1:
        raise ValueError("groups of the batch")
    x = x.transpose(_order(numbers, "input_batch", "input_feature", "input_spatial"))
    w = w.transpose(
        _order(numbers, "kernel_output_feature", "kernel_input_feature", "kernel_spatial")
    )
    flipped = attributes.get("window_reversal") or (False,) * rank
    w = np.flip(w, tuple(2 + axis for axis in range(rank) if flipped[axis]))
    gaps = [step - 1 for step in _steps(attributes, "lhs_dilation", rank)]
    pads = attributes.get("padding") or ((0, 0),) * rank
    low, high = ([int(pair[end]) for pair in pads] for end in (0, 1))
    if any(gaps) or min((*low, *high), default=0) < 0:
        zero = np.zeros((), x.dtype)
        x = padded(x, zero, [0, 0, *low], [0, 0, *high], [0, 0, *gaps])
        low = high = [0] * rank
    y = standard(
        call, "Conv", np.ascontiguousarray(x), np.ascontiguousarray(w), version=11,
        strides=_steps(attributes, "window_strides", rank),
        dilations=_steps(attributes, "rhs_dilation", rank),
        pads=(*low, *high), group=int(attributes.get("feature_group_count", 1)),
    )  # fmt: skip
    order = _order(numbers, "output_batch", "output_feature", "output_spatial")
    return np.asarray(y).transpose(np.argsort(order))


def _steps(attributes: Mapping[str, Any], name: str, rank: int) -> tuple[int, ...]:
    return integers(attributes.get(name) or (1,) * rank)


def _order(numbers: Mapping[str, Any], first: str, second: str, rest: str) -> tuple[int, ...]:
    ends = (int(numbers[f"{each}_dimension"]) for each in (first, second))
    return (*ends, *integers(numbers[f"{rest}_dimensions"]))


@kernel("batch_norm_inference", domain=STABLEHLO)
def batch_norm(  # noqa: PLR0917
    call: Call, x: Array, scale: Array, offset: Array, mean: Array, variance: Array
) -> Array:
    """With stored statistics, along one axis."""
    axis = int(call.attributes["feature_index"])
    noise = call.noise
    spread = np.asarray(variance + float(call.attributes["epsilon"]), variance.dtype)
    inverse = noise.rounded(np.asarray(1.0 / np.sqrt(spread)))
    away = noise.rounded(np.asarray(x - along(x, mean, axis)))
    normal = noise.rounded(np.asarray(away * along(x, inverse, axis)))
    return scaled(normal, along(x, scale, axis), along(x, offset, axis), noise)

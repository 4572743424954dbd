"""torchao's affine quantizers in any width: blocks of a tensor that share a scale and a zero point.

torchao's own refuse float64. A draw in which quantizers are disturbed moves stored integers by the
step of an ideal quantizer of the same width. What is quantized at run time is moved before it is
rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from isomorph.frameworks.pytorch.bound_arguments import array, bound, tensor
from isomorph.frameworks.pytorch.program import Step, plain_word
from isomorph.oracle.noise import NO_NOISE, NoiseSource

Given = Mapping[str, Any]
_OUTER_BITS = 8
"""The width of the types that stored integers of fewer bits lie in."""


def affine(step: Step, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The result of one of these operators; None for every other."""
    compute = AFFINE.get(plain_word(step))
    return None if compute is None else compute(bound(step, arguments, named), NO_NOISE)


def left_integers(value: Any, result: Any, source: NoiseSource) -> Any:  # noqa: ANN401
    """Stored integers that became floats, moved by the step of an ideal quantizer."""
    if not (source.quantizers and is_stored_weight(value) and result.is_floating_point()):
        return result
    low, high = (int(each) for each in torch.aminmax(value))
    return _moved(result, (max(high, 0) - min(low, 0)) / (2**_OUTER_BITS - 1), source)


def is_stored_weight(value: Any) -> bool:  # noqa: ANN401
    """Whether a constant may be a matrix of weights in bytes."""
    matrix = isinstance(value, torch.Tensor) and value.ndim > 1 and value.numel() > 0
    return matrix and value.dtype in (torch.int8, torch.uint8)


def _dequantized(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    """(integers − zero point)·scale, in the output's type or in float64."""
    stored, scale, zero = given["input"], given["scale"], given.get("zero_point")
    view, kept, _ = _blocks(stored.shape, given["block_size"])
    wide = _wide_as(scale, given.get("output_dtype"))
    real = stored.to(wide).reshape(view)
    if zero is not None and zero.numel():
        real = real - zero.to(wide).reshape(kept)
    real = real * scale.reshape(kept)
    if source.quantizers and not stored.is_floating_point() and stored.ndim > 1:
        low, high = _ends(given)
        axes = tuple(place for place, size in enumerate(kept) if size != view[place])
        ends = real.amax(axes, keepdim=True), real.amin(axes, keepdim=True)
        step = (ends[0].clamp(min=0) - ends[1].clamp(max=0)) / (high - low)
        real = _moved(real, step, source)
    return _rounded(real.reshape(stored.shape).to(wide), source)


def _quantized(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    """Onto the grid: round(x/scale) + zero point, cut off at the ends."""
    x, scale, zero = given["input"], given["scale"], given.get("zero_point")
    view, kept, _ = _blocks(x.shape, given["block_size"])
    steps = _rounded(x.reshape(view) * (1.0 / scale.reshape(kept)), source)
    if source.quantizers:
        # What follows reads integers: moved before it is rounded, their mean is what was given.
        steps = _moved(steps, 1.0, source)
    whole = torch.round(steps)
    if zero is not None and zero.numel():
        whole = whole + zero.to(whole.dtype).reshape(kept)
    return whole.clamp(*_ends(given)).reshape(x.shape).to(given["output_dtype"])


def _parameters(given: Given, source: NoiseSource) -> Any:  # noqa: ANN401
    """Scale and zero point of every block of an activation, from its ends."""
    x, kind = given["input"], given["mapping_type"]
    view, kept, axes = _blocks(x.shape, given["block_size"])
    split = x.reshape(view)
    low = split.amin(axes, keepdim=True).clamp(max=0)
    high = split.amax(axes, keepdim=True).clamp(min=0)
    first, last = _ends(given)
    if kind == "ASYMMETRIC":
        scale = (high - low) / float(last - first)
    elif kind == "SYMMETRIC":
        scale = torch.maximum(-low, high) / (float(last - first) / 2)
    else:
        scale = torch.maximum(low / float(first), high / float(last))
    least = given.get("eps")
    scale = scale.clamp(min=torch.finfo(torch.float32).tiny if least is None else least)
    zero = torch.full_like(scale, (last + first + 1) // 2)
    if kind == "ASYMMETRIC":
        zero = (first - torch.round(low / scale)).clamp(first, last)
    blocks = [size for place, size in enumerate(kept) if place not in axes]
    if given.get("keepdim"):
        blocks = [n // b for n, b in zip(x.shape, given["block_size"], strict=True)]
    scale = _rounded(scale, source).to(_wide_as(x, given.get("scale_dtype")))
    return scale.reshape(blocks), zero.reshape(blocks).to(
        given.get("zero_point_dtype") or torch.int32
    )


def _blocks(shape: Sequence[int], block: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """The shape in blocks, that of one number for each, and the axes inside of blocks."""
    view: list[int] = []
    inside: list[int] = []
    for size, own in zip(shape, block, strict=True):
        if own not in {size, 1}:
            view.append(size // own)
            inside.append(len(view))
            view.append(own)
        else:
            if own != 1:
                inside.append(len(view))
            view.append(size)
    kept = [1 if place in inside else size for place, size in enumerate(view)]
    return view, kept, inside


def _ends(given: Given) -> tuple[int, int]:
    dtype = given.get("target_dtype") or given.get("input_dtype") or given["output_dtype"]
    low, high = given.get("quant_min"), given.get("quant_max")
    if low is not None and high is not None:
        return int(low), int(high)
    info = torch.iinfo(dtype)
    return (info.min if low is None else int(low)), (info.max if high is None else int(high))


def _wide_as(given: torch.Tensor, declared: Any) -> torch.dtype:  # noqa: ANN401
    """The declared type; float64 where the operands are, and the operand's where none is stated."""
    if given.dtype == torch.float64:
        return torch.float64
    return declared if isinstance(declared, torch.dtype) else given.dtype


def _rounded(value: torch.Tensor, source: NoiseSource) -> Any:  # noqa: ANN401
    return tensor(source.rounded(array(value))) if source.active else value


def _moved(value: torch.Tensor, step: Any, source: NoiseSource) -> Any:  # noqa: ANN401
    """Moved by up to half a step, evenly; zero is held exactly."""
    count = math.prod(value.shape)
    draw = source.random.uniform(-0.5, 0.5, count).reshape(tuple(value.shape))
    return value + torch.where(value == 0, 0.0, tensor(np.asarray(draw)) * step).to(value.dtype)


AFFINE: Mapping[str, Any] = {
    "torchao.dequantize_affine": _dequantized,
    "torchao.quantize_affine": _quantized,
    "torchao.choose_qparams_affine": _parameters,
}

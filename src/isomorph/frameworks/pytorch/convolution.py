"""Convolutions of an oracle on the CPU, by the kernel of the other oracles.

In float64 torch unfolds a whole image before it multiplies, which takes up to three times as long
as to do both piece by piece.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from isomorph.frameworks.pytorch.bound_arguments import bound
from isomorph.frameworks.pytorch.program import Step
from isomorph.kernels.convolution import convolve
from isomorph.kernels.windows import windows
from isomorph.oracle.noise import Array

_PLAIN = frozenset(
    {
        torch.ops.aten.conv1d.default,
        torch.ops.aten.conv2d.default,
        torch.ops.aten.conv3d.default,
    }
)
"""Not those whose padding is a word."""


def convolved(step: Step, arguments: list[Any], named: dict[str, Any]) -> torch.Tensor | None:
    """The result of a convolution of float64; None for another operator, type or device."""
    if step.target not in _PLAIN:
        return None
    given = bound(step, arguments, named)
    x, weight, bias = given["input"], given["weight"], given.get("bias")
    operands = [each for each in (x, weight, bias) if each is not None]
    if not all(plain_float64(each) for each in operands) or x.dim() != weight.dim():
        return None
    rank, groups = weight.dim() - 2, int(given.get("groups", 1))
    strides, padding, dilations = (
        _per_axis(given.get(name, otherwise), rank)
        for name, otherwise in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        return None
    attributes = {"strides": strides, "dilations": dilations, "pads": (*padding, *padding)}
    place = windows(attributes, x.shape[2:], weight.shape[2:])
    if min((*place.output, *x.shape)) < 1:
        return None
    added = None if bias is None else as_array(bias)
    return torch.from_numpy(convolve(as_array(x), as_array(weight), added, place, groups))


def as_array(value: torch.Tensor) -> Array:
    """The numbers of a tensor, one after the other."""
    return np.asarray(value.detach().contiguous().numpy())


def plain_float64(value: Any) -> bool:  # noqa: ANN401
    """Whether NumPy can read it as an array of float64."""
    return (
        isinstance(value, torch.Tensor)
        and value.dtype == torch.float64
        and value.device.type == "cpu"
        and value.layout == torch.strided
    )


def _per_axis(value: Any, rank: int) -> tuple[int, ...]:  # noqa: ANN401
    """One number for each spatial axis; a single one holds for all."""
    listed = [int(each) for each in value] if isinstance(value, (list, tuple)) else [int(value)]
    return tuple(listed * rank if len(listed) == 1 else listed)

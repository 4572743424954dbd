"""Which steps are evaluated in float64, and what a cast then means.

A value that depends on the inputs is held in float64, whatever its declared type. One that
depends on constants and shapes alone keeps its declared type: its meaning includes its width.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from isomorph.frameworks.pytorch.arrays import FLOATS
from isomorph.frameworks.pytorch.bound_arguments import on_floats
from isomorph.frameworks.pytorch.program import Step, operator_name, plain_word, refs
from isomorph.frameworks.pytorch.rounding_classes import (
    CASTS,
    READS_SHAPES,
    WRAPS_NUMBERS,
    WRAPS_WIDER,
)

_ADVISED = 2 << 20
"""Bytes from twice which on NumPy asks the system for large pages, which PyTorch does not."""

_WIDER = {torch.complex64: torch.complex128, torch.complex32: torch.complex128}


def data_steps(steps: Iterable[tuple[int, Step]], data: set[str]) -> frozenset[int]:
    """The steps that depend on ``data``; their outputs are added to it."""
    found = set()
    for index, step in steps:
        places = step.args[1:] if reads_shape(step) else step.args
        if any(name in data for name in refs(places, step.kwargs)):
            found.add(index)
            data.update(step.gives)
    return frozenset(found)


def reads_shape(step: Step) -> bool:
    """Whether the first argument matters by its shape alone."""
    return plain_word(step) in READS_SHAPES


def is_cast(step: Step) -> bool:
    """Whether the step's purpose is to change the type (or device) of a tensor."""
    return plain_word(step) in CASTS and operator_name(step.target).startswith("aten.")


def cast(value: Any, declared: torch.dtype | None, target: torch.dtype | None) -> Any:  # noqa: ANN401
    """``value`` after an explicit cast from its ``declared`` type: a narrower type rounds."""
    if not isinstance(value, torch.Tensor) or target is None:
        return value
    if target in FLOATS:
        if value.is_floating_point() and not narrows(declared, target):
            # A tensor of its own, since its declared type is kept by identity.
            wide = value.to(torch.float64)
            return wide.view_as(wide) if torch.is_grad_enabled() else wide.detach()
        return value.to(target).to(torch.float64)
    return value.to(_WIDER.get(target, target))


def narrows(declared: torch.dtype | None, target: torch.dtype | None) -> bool:
    """Whether a cast to ``target`` can round; from an integer it always can."""
    if target not in FLOATS:
        return False
    if declared not in FLOATS:
        return bool(declared != torch.bool)
    before, after = torch.finfo(declared), torch.finfo(target)
    return bool(after.eps > before.eps or after.max < before.max)


def numbers_as_held(step: Step, arguments: list[Any], dtype: torch.dtype | None) -> list[Any]:
    """The arguments, with Python numbers as wide as the tensor that torch makes of them.

    0.7 beside a float32 tensor is the float32 nearest to 0.7, which matters where a quotient is
    floored.
    """
    word = plain_word(step)
    if dtype not in FLOATS or word not in WRAPS_NUMBERS | WRAPS_WIDER:
        return arguments
    narrow = torch.finfo(dtype).bits < 32
    width = torch.float32 if narrow and word in WRAPS_WIDER else dtype
    return [
        torch.tensor(each, dtype=width).item() if isinstance(each, float) else each
        for each in arguments
    ]


def lifted(value: Any) -> Any:  # noqa: ANN401
    """Every real or complex tensor inside ``value`` at double width, every dtype likewise."""
    if isinstance(value, torch.dtype):
        return torch.float64 if value in FLOATS else _WIDER.get(value, value)
    if isinstance(value, torch.Tensor) and value.is_complex():
        return value.to(torch.complex128)
    if isinstance(value, dict):
        return {key: lifted(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(lifted(item) for item in value)
    return on_floats(value, _wide)


def _wide(value: torch.Tensor) -> torch.Tensor:
    # Most are wide already; to find that out by ``to`` costs as much as a small operator.
    if value.dtype == torch.float64:
        return value
    if value.nbytes >= _ADVISED and value.is_cpu and not value.requires_grad:
        return torch.from_numpy(np.empty(tuple(value.shape))).copy_(value)
    return value.to(torch.float64)

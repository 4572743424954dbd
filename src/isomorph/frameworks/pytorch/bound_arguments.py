"""A step's arguments by the names in its operator's schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from isomorph.frameworks.pytorch.program import Step


def bound(step: Step, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Every argument by its name, with the schema's defaults."""
    schema = getattr(step.target, "_schema", None)
    if schema is None:
        return {**{str(place): value for place, value in enumerate(arguments)}, **named}
    given: dict[str, Any] = {}
    for place, argument in enumerate(schema.arguments):
        if not argument.kwarg_only and place < len(arguments):
            given[argument.name] = arguments[place]
        elif argument.name in named:
            given[argument.name] = named[argument.name]
        elif argument.has_default_value():
            given[argument.name] = argument.default_value
    return given


def on_floats(value: Any, change: Any) -> Any:  # noqa: ANN401
    """``value`` with ``change`` applied to every real tensor inside it."""
    if isinstance(value, torch.Tensor):
        return change(value) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(on_floats(item, change) for item in value)
    return value


def array(value: Any) -> Any:  # noqa: ANN401
    """A tensor as a NumPy view of the same memory, or of a copy on the CPU; others as they are."""
    return value.cpu().numpy() if isinstance(value, torch.Tensor) else value


def tensor(value: Any) -> Any:  # noqa: ANN401
    """A NumPy array as a tensor of the same memory."""
    return torch.from_numpy(np.asarray(value))


def axes_of(dim: Any, rank: int) -> tuple[int, ...]:  # noqa: ANN401
    """The axes that ``dim`` names: one, several, or all when it is empty."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(rank))
    listed = dim if isinstance(dim, (list, tuple)) else (dim,)
    return tuple(int(axis) % rank for axis in listed) if rank else ()


def each_float(result: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    """``result`` with ``change`` applied to every real tensor as an array."""
    return on_floats(result, lambda value: tensor(change(value)))

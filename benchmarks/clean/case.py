"""One model of the calibration: how it is built and what it is fed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

Feeds = dict[str, np.ndarray[Any, Any]]
Draw = Callable[[np.random.Generator], Feeds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``inputs`` are drawn anew for each seed; their names are those of ``forward``.

    ``narrow`` says that the values fit into float16: beyond its range a float16 model is not a
    faithful conversion, and calling it divergent would be right. ``lies`` names the conversions
    that the exporter gets wrong without a word.
    """

    name: str
    build: Callable[[], nn.Module]
    inputs: Draw
    narrow: bool = True
    lies: tuple[str, ...] = ()


class Formula(nn.Module):
    """A function of one tensor as a module."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


def formula(
    name: str,
    function: Callable[[Tensor], Any],
    inputs: Draw,
    *,
    narrow: bool = True,
    lies: tuple[str, ...] = (),
) -> Case:
    """A case without weights."""
    return Case(name=name, build=lambda: Formula(function), inputs=inputs, narrow=narrow, lies=lies)


def stack(name: str, build: Callable[[], list[nn.Module]], inputs: Draw) -> Case:
    """A case that is one layer after another."""
    return Case(name=name, build=lambda: Stack(build()), inputs=inputs)


class Stack(nn.Module):
    """Layers in a row; ``x`` is the name of the input, as in every case of one input."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Any:
        return self.layers(x)


def normal(*shape: int, scale: float = 1.0, offset: float = 0.0) -> Draw:
    """One float32 input from N(offset, scale²)."""
    return lambda random: {"x": (offset + scale * random.standard_normal(shape)).astype(np.float32)}


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> Draw:
    """One float32 input from low…high."""
    return lambda random: {"x": random.uniform(low, high, shape).astype(np.float32)}


def integers(*shape: int, below: int) -> Draw:
    """One int64 input from 0…below−1."""
    return lambda random: {"x": random.integers(0, below, shape)}


def input_names(module: nn.Module) -> list[str]:
    """The names that exports are to give to the inputs."""
    return list(inspect.signature(module.forward).parameters)

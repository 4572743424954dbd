"""Many draws of single tensors: their mean, and how far they lie around it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph.core.chance import freedom
from isomorph.oracle.draw_accumulator import DrawAccumulator, Step
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The mean of many draws of one tensor, their rms about it, and its degrees of freedom."""

    center: Array = field(repr=False, compare=False)
    rms: float
    freedom: float


class _MeanSquares:
    """The statistic of single draws: the mean square of each step, infinite for a lost one."""

    def __init__(self) -> None:
        self.squares: list[float] = []

    def add(self, step: Step) -> None:
        """Add one draw."""
        error, _ = rms_and_peak(step.draw, step.center)
        self.squares.append(error * error)  # "**" raises where a product is infinite

    def lose(self) -> None:
        """Note a draw that can be anything."""
        self.squares.append(math.inf)


def drawn_tensors(
    oracle: Session, feeds: Arrays, values: Mapping[str, Array], noise: Noise | None, draws: int
) -> dict[str, Drawn]:
    """Draw the tensors of these undisturbed ``values`` in the same runs.

    The noise of a node does not depend on what is fetched, so each is drawn as if alone. Without
    noise nothing moves.
    """
    if noise is None:
        return {
            name: Drawn(center=value, rms=0.0, freedom=math.inf) for name, value in values.items()
        }
    drawing = {
        name: DrawAccumulator(value, _MeanSquares(), about_mean=True)
        for name, value in values.items()
    }
    for seed in range(draws):
        found = oracle.run(feeds, list(values), noise=replace(noise, seed=seed))
        for name, each in drawing.items():
            each.add(found[name])
    return {name: _of(each) for name, each in drawing.items()}


def _of(drawing: DrawAccumulator[_MeanSquares]) -> Drawn:
    squares = drawing.finish().squares
    rms = math.sqrt(sum(squares) / max(len(squares) - 1, 1))
    return Drawn(center=drawing.center, rms=rms, freedom=freedom(squares))

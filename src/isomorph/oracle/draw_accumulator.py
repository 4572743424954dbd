"""Accumulate the draws of one tensor: each as a step from the center, for one statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from isomorph.oracle.dtypes import numeric

if TYPE_CHECKING:
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One draw of a tensor beside its center, which has the same shape.

    ``wide`` marks noise that is wider than rounding.
    """

    draw: Array
    center: Array
    wide: bool = False

    def difference(self) -> Array:
        """Return draw − center as a new float64 or complex128 array.

        It is NaN or infinite where either of them is, or where the difference overflows.
        """
        both = (self.draw, self.center)
        wide = np.complex128 if any(each.dtype.kind == "c" for each in both) else np.float64
        with np.errstate(all="ignore"):
            return np.asarray(np.asarray(self.draw, wide) - np.asarray(self.center, wide))

    def finite(self) -> Array:
        """Return where both are finite."""
        return np.asarray(np.isfinite(self.draw) & np.isfinite(self.center))

    def same(self) -> Array:
        """Return where both are equal; NaN equals NaN."""
        equal = self.draw == self.center
        return np.asarray(equal | (np.isnan(self.draw) & np.isnan(self.center)))


class Statistic(Protocol):
    """What is computed from the steps of all draws."""

    def add(self, step: Step) -> None:
        """Add one draw."""
        ...

    def lose(self) -> None:
        """Note that a draw was no longer the same tensor: its values may be anything."""
        ...


S = TypeVar("S", bound=Statistic)


class DrawAccumulator(Generic[S]):
    """The draws of one tensor about its undisturbed value, or about their own mean.

    The mean is the center where the undisturbed value is itself in question (the quantizers of a
    candidate): then the draws are kept until ``finish``.
    """

    def __init__(self, value: Array, statistic: S, *, about_mean: bool = False) -> None:
        self.center, self.statistic = value, statistic
        self._kept: list[Any] | None = [] if about_mean else None

    def add(self, draw: Any, *, wide: bool = False) -> None:  # noqa: ANN401
        """Add one draw; None where the run did not return the tensor."""
        if self._kept is not None:
            self._kept.append(draw)
        elif _comparable(draw, self.center):
            self.statistic.add(Step(draw=draw, center=self.center, wide=wide))
        else:
            self.statistic.lose()

    def finish(self) -> S:
        """Return the statistic of all draws; draws that were kept are released."""
        kept, self._kept = self._kept, None
        if kept is not None:
            self.center = mean(self.center, kept)
            for draw in kept:
                self.add(draw)
        return self.statistic


def mean(value: Array, draws: Sequence[Any]) -> Array:
    """Return the mean of all draws; the value itself where noise changed even the shape.

    So it is for what is no tensor of real numbers: text, and complex numbers.
    """
    if not draws or not all(numeric(draw) and _comparable(draw, value) for draw in draws):
        return value
    with np.errstate(all="ignore"):
        return np.asarray(np.mean([np.asarray(draw, np.float64) for draw in draws], axis=0))


def _comparable(draw: Any, center: Array) -> bool:  # noqa: ANN401
    """Whether a draw is still a tensor of the same shape, and of numbers where the center is."""
    if not isinstance(draw, np.ndarray) or draw.shape != center.shape:
        return False
    return numeric(draw) or not numeric(center)

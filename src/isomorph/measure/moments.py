"""The moments of the draws of one tensor, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import DRAWN_BYTES
from isomorph.core.memory import share_of_memory
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.measure.distance import is_inexact, is_integer, widen
from isomorph.measure.moderated_variance import moderated
from isomorph.measure.reached_values import Reached, few_values
from isomorph.measure.spread import Spread
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.oracle.draw_accumulator import Step


class Moments:
    """The statistic of each element: first and second moments about the center.

    Where elements may jump (``jumps``) every draw is kept. ``about_mean`` takes the variance about
    the mean of the draws out of both moments, so that further draws refine it.
    """

    def __init__(self, center: Array, *, about_mean: bool = False, jumps: bool = False) -> None:
        self.center, self._about_mean = center, about_mean
        self.inexact = is_inexact(center)
        self.unsettled = np.zeros(center.shape, bool)
        self._first = np.zeros(center.shape if self.inexact else ())
        self._second, self._wider = np.zeros_like(self._first), np.zeros_like(self._first)
        self._plain = self._wide = 0
        number = self.inexact or is_integer(center) or center.dtype.kind == "b"
        real = center.dtype.kind != "c"
        keep = number and real and not about_mean and (jumps or not self.inexact)
        self._steps: list[Array] | None = [] if keep else None

    def add(self, step: Step) -> None:
        """Add one draw; wider noise only counts for elements that the others did not move."""
        moved = step.difference() if self.inexact or self._steps is not None else np.zeros(())
        self._keep(moved, wide=step.wide)
        if not self.inexact:
            if not step.wide:
                self._plain += 1
                self.unsettled |= np.asarray(step.draw != self.center)
            return
        finite = step.finite()
        self.unsettled |= ~finite & ~step.same()
        size = np.where(finite, np.abs(moved) if moved.dtype.kind == "c" else moved, 0.0)
        if step.wide:
            self._wide += 1
            self._wider += size * size
            return
        self._plain += 1
        self._first += size
        self._second += size * size

    def lose(self) -> None:
        """Note that even the shape changed under noise: nothing about this tensor is settled."""
        self.unsettled[...] = True
        self._steps = None

    def spread(self, draws: int) -> Spread:
        """Return the spread after this many draws."""
        if not self.inexact:
            return Spread(
                draws=draws, deviation=None, unsettled=self.unsettled, reached=self._whole(),
            )  # fmt: skip
        count = max(self._plain, 1)
        variance, freedom = self._second / count, float(count)
        if self._about_mean and count > 1:
            mean = self._first / count
            variance = np.maximum(variance - mean**2, 0.0) * count / (count - 1)
            freedom = count - 1.0
        reached: tuple[Reached, ...] = ()
        still = variance == 0
        if self._steps:
            rows = self._rows()
            few, within, left = few_values(rows)
            reached = (Reached(steps=rows, plain=self._plain, few=few, loose=pooled(variance)),)
            variance, still = np.where(few, within, variance), still & ~few
            freedom = max(float(np.min(left[few], initial=freedom)), 1.0)
        if self._about_mean:
            # The loss of a quantizer or a narrow type is as large as the draws show: an element
            # at the end of a range, after a ReLU, may lose as much as its neighbors.
            lost = pooled_loss(variance, np.abs(widen(self.center)))
            return Spread(draws=draws, deviation=lost, unsettled=self.unsettled)
        if self._wide:
            # Where only wider noise moves an element, rounding might: its deviation is used.
            variance = np.where(still, self._wider / self._wide, variance)
        found = moderated(variance, np.abs(widen(self.center)), freedom)
        return Spread(
            draws=draws, deviation=found.deviation, unsettled=self.unsettled,
            freedom=found.freedom, reached=reached,
        )  # fmt: skip

    def _whole(self) -> tuple[Reached, ...]:
        """Return the largest step of each integer; unmoved ones get the largest of all."""
        if not self._steps:
            return ()
        rows = self._rows()
        far = np.max(np.abs(rows), axis=0)
        loose = np.where(far > 0, far, np.max(far, initial=0.0))
        return (Reached(steps=rows, plain=self._plain, few=few_values(rows)[0], loose=loose),)

    def _keep(self, step: Array, *, wide: bool) -> None:
        if self._steps is None:
            return
        # Steps of whole numbers are exact up to 2**53; those of floats need few digits.
        kept = step.astype(np.float32) if self.inexact else step
        needed = (len(self._steps) + 2) * kept.nbytes
        if needed > share_of_memory(DRAWN_BYTES.most):
            DRAWN_BYTES.reached()
            self._steps = None
            return
        # Plain draws come first; the order of the wider ones does not matter.
        self._steps.insert(len(self._steps) if wide else self._plain, kept)

    def _rows(self) -> Array:
        assert self._steps is not None
        still = np.zeros((1, *self.center.shape), self._steps[0].dtype if self._steps else float)
        return np.concatenate([still, np.stack(self._steps)]) if self._steps else still


def pooled(variance: Array, shared: Array | None = None) -> Array:
    """Return standard deviations from the mean of each variance and its channel's.

    ``shared`` are the variances that enter the mean of a channel, where they are others.
    """
    if variance.ndim == 0:
        return np.asarray(np.sqrt(variance))
    axes = tuple(range(2, variance.ndim)) if variance.ndim >= 4 else (-1,)
    each = variance if shared is None else shared
    neighbors = np.mean(each, axis=axes, keepdims=True) if variance.size else variance
    return np.asarray(np.sqrt(0.5 * (variance + neighbors)))


def pooled_loss(variance: Array, size: Array) -> Array:
    """Return deviations of a loss of precision, to which neighbors without any do not contribute.

    A neighbor that moves by no more than the rounding of float32 lost nothing by a narrower type,
    however large it is.
    """
    rounding = OPERATION_ROUNDINGS * unit_roundoff("float32") * size
    with np.errstate(over="ignore"):
        lost = variance > np.square(rounding)
    return pooled(variance, np.where(lost, variance, 0.0))

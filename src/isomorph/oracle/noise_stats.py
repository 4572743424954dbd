"""How far noise moves every tensor: runs of an oracle of which only the sizes are kept.

Done where the oracle is, so that of five traces one travels. Each draw is let go before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from isomorph.core.memory import give_back
from isomorph.core.protocols import StreamsTensors
from isomorph.oracle.fingerprint import FLOAT64_ORDER, Fingerprint, fingerprint
from isomorph.store.shared_arrays import release_pages

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise, Use

_FEWEST_UNSEEN = 4
"""A quarter of the elements: fewer are small by chance."""
_HIDES_ONE = 1.0
"""Noise of this size belongs to numbers beyond a float32's whole ones: nothing but masks is so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One tensor in short: its fingerprint, and the rms and largest size of what noise did to it.

    ``unseen`` describes the elements that lie within the tensor's own noise, if they are many: up
    to which size that is, and the rms and largest size of their noise alone. Beside the huge
    negative numbers of a mask, scores are rounding.
    """

    mark: Fingerprint
    rms: float = 0.0
    peak: float = 0.0
    unseen: tuple[float, float, float] | None = None


@runtime_checkable
class DisturbsTensors(Protocol):
    """The ability of a session to draw noise in its own process, and to send only statistics."""

    def disturbed(
        self, feeds: Arrays, fetch: Sequence[str], noises: Sequence[Noise]
    ) -> tuple[Arrays, dict[str, Moved]]:
        """The tensors, and how far these disturbances move each."""
        ...


def disturbed(
    session: Session,
    feeds: Arrays,
    fetch: Sequence[str],
    noises: Sequence[Noise],
    keep: Callable[[str, Any], Any] = lambda _, value: value,
) -> tuple[Arrays, dict[str, Moved]]:
    """The tensors as they are, and how far these disturbances move each.

    ``keep`` decides how the former are kept until the last draw.
    """
    values: dict[str, Any] = {}
    hand_over(session, feeds, fetch, lambda name, it: values.update({name: keep(name, it)}))
    moving = Moving(values, about_mean=any(noise.quantizers for noise in noises))
    for noise in noises:
        give_back()
        hand_over(session, feeds, fetch, moving.add, noise=noise)
    return values, moving.statistics(len(noises))


def hand_over(
    session: Session,
    feeds: Arrays,
    fetch: Sequence[str],
    use: Use,
    *,
    noise: Noise | None = None,
) -> None:
    """Use each tensor as soon as it is computed, where the session can; else when all are."""
    if isinstance(session, StreamsTensors):
        session.hand_over(feeds, fetch, use, noise=noise)
        return
    found = session.run(feeds, fetch) if noise is None else session.run(feeds, fetch, noise=noise)
    for name, value in found.items():
        use(name, value)


class Moving:
    """How far draws are from the values, tensor by tensor.

    Or from their own mean, where the values are themselves under suspicion (the quantizers of a
    candidate): then the draws are kept until the last.
    """

    def __init__(self, values: Mapping[str, Any], *, about_mean: bool = False) -> None:
        self._values = {name: value for name, value in values.items() if numeric(value)}
        self._draws: dict[str, list[Any]] | None = {} if about_mean else None
        self._moving: dict[str, _Moving] = {}
        if not about_mean:
            self._moving = {name: _Moving(value, value) for name, value in self._values.items()}

    def add(self, name: str, draw: Any) -> None:  # noqa: ANN401
        """One tensor of one draw."""
        if self._draws is not None:
            self._draws.setdefault(name, []).append(draw)
        elif name in self._moving:
            self._moving[name].add(draw)

    def statistics(self, draws: int) -> dict[str, Moved]:
        """What became of each tensor in so many draws."""
        for name, kept in (self._draws or {}).items():
            if name in self._values:
                value = self._values[name]
                self._moving[name] = _Moving(value, mean(value, kept))
                for draw in kept:
                    self._moving[name].add(draw)
        return {name: self._moving[name].statistics(draws) for name in self._moving}


class _Moving:
    """The sums of one tensor about ``center``."""

    def __init__(self, value: Array, center: Array) -> None:
        self._value, self._center = value, center.astype(np.float64, copy=False)
        self._mark = fingerprint(value)
        release_pages(value)
        self._all, self._few = _Sums(), _Sums()
        self._limit = 0.0
        self._small: Array | None = None
        self._lost = False

    def add(self, draw: Any) -> None:  # noqa: ANN401
        if self._lost or not numeric(draw) or np.shape(draw) != self._center.shape:
            self._lost = True  # under noise even its shape changed: it can be anything
            return
        with np.errstate(all="ignore"):
            step = np.asarray(np.asarray(draw, np.float64) - self._center)
        step[~np.isfinite(step)] = 0.0
        self._all.add(step)
        if self._all.draws == 1:
            self._small = self._unseen()
        if self._small is not None:
            self._few.add(step[self._small])
        release_pages(self._value)

    def _unseen(self) -> Array | None:
        """Where the elements are that the first draw shows to be within the noise."""
        self._limit = self._all.rms + FLOAT64_ORDER * self._mark.rms
        small = within(self._value, self._limit)
        count = np.count_nonzero(small)
        many = _FEWEST_UNSEEN * count >= small.size or self._limit >= _HIDES_ONE
        return small if count and many else None

    def statistics(self, draws: int) -> Moved:
        if self._lost or self._all.draws != draws:
            return Moved(mark=self._mark, rms=np.inf, peak=np.inf)
        unseen = None if self._small is None else (self._limit, self._few.rms, self._few.peak)
        return Moved(mark=self._mark, rms=self._all.rms, peak=self._all.peak, unseen=unseen)


class _Sums:
    """Mean square and largest size over all draws."""

    def __init__(self) -> None:
        self.draws, self._squares, self.peak = 0, 0.0, 0.0

    def add(self, step: Array) -> None:
        self.draws += 1
        if step.size:
            flat = step.reshape(-1)
            self._squares += float(np.dot(flat, flat)) / flat.size
            self.peak = max(self.peak, float(flat.max()), -float(flat.min()))

    @property
    def rms(self) -> float:
        return float(np.sqrt(self._squares / self.draws)) if self.draws else 0.0


def mean(value: Array, draws: Sequence[Any]) -> Array:
    """Of all draws; the value itself where noise changed even the shape."""
    fitting = all(numeric(draw) and np.shape(draw) == value.shape for draw in draws)
    if not draws or not fitting:
        return value
    with np.errstate(all="ignore"):
        return np.asarray(np.mean([np.asarray(draw, np.float64) for draw in draws], axis=0))


def numeric(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is a tensor of numbers (and not a sequence, text or nothing)."""
    return isinstance(value, np.ndarray) and (
        value.dtype.kind in "fiub" or "float" in str(value.dtype)
    )


def within(value: Array, limit: float) -> Array:
    """Where a tensor of floats is neither zero nor larger than that.

    Beside the huge numbers of a mask, whose noise hides a whole one, zeros count as well: they are
    what is not masked.
    """
    if value.dtype.kind != "f":
        return np.zeros(value.shape, bool)
    small = np.abs(value) <= limit
    return np.asarray(small if limit >= _HIDES_ONE else small & (value != 0))

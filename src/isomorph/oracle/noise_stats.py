"""How far noise moves every tensor: runs of an oracle of which only the sizes are kept.

Done where the oracle is, so that of all traces one travels. Each draw is let go before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from isomorph.core.memory import give_back, share_of_memory
from isomorph.core.protocols import StreamsTensors
from isomorph.core.threads import Background, run_all
from isomorph.oracle.draw_accumulator import DrawAccumulator, Step
from isomorph.oracle.dtypes import numeric
from isomorph.oracle.fingerprint import FLOAT64_ORDER, PIECE, Fingerprint, fingerprint
from isomorph.store.shared_arrays import release_pages

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise, Use

_FEWEST_UNSEEN = 4
"""A quarter of the elements: fewer are small by chance."""
_HIDES_ONE = 1.0
"""Noise of this size belongs to numbers beyond a float32's whole ones: nothing but masks is so."""

_BEHIND_BYTES = 256 << 20
"""Tensors whose statistics are computed behind the run, where nothing limits it to less."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbed:
    """Tensors as they are, how far noise moves each, and the draws of those that were asked for."""

    values: Arrays
    moved: dict[str, Moved]
    draws: Sequence[Arrays] = ()


@runtime_checkable
class DisturbsTensors(Protocol):
    """The ability of a session to draw noise in its own process, and to send only statistics."""

    def disturbed(
        self,
        feeds: Arrays,
        fetch: Sequence[str],
        noises: Sequence[Noise],
        draws_of: Sequence[str] = (),
    ) -> Disturbed:
        """The tensors, and how far these disturbances move each."""
        ...


def disturbed(
    session: Session,
    feeds: Arrays,
    fetch: Sequence[str],
    noises: Sequence[Noise],
    keep: Callable[[str, Any], Any] = lambda _, value: value,
    *,
    draws_of: Sequence[str] = (),
) -> Disturbed:
    """The tensors as they are, and how far these disturbances move each.

    ``keep`` decides how the former are kept until the last draw. Of the tensors in ``draws_of``
    each draw is kept.
    """
    values: dict[str, Any] = {}
    hand_over(session, feeds, fetch, lambda name, it: values.update({name: keep(name, it)}))
    moving = Moving(values, about_mean=any(noise.quantizers for noise in noises))
    draws: list[dict[str, Any]] = []
    for noise in noises:
        give_back()
        draws.append({})

        with Background(share_of_memory(_BEHIND_BYTES)) as later:

            def use(
                name: str,
                value: Any,  # noqa: ANN401
                drawn: dict[str, Any] = draws[-1],
                later: Background = later,
            ) -> None:
                later.call(partial(moving.add, name, value), getattr(value, "nbytes", 0))
                if name in draws_of:
                    drawn[name] = value

            hand_over(session, feeds, fetch, use, noise=noise)
    return Disturbed(values=values, moved=moving.statistics(len(noises)), draws=draws)


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
    """How far draws are from the values, or from their own mean, tensor by tensor."""

    def __init__(self, values: Mapping[str, Any], *, about_mean: bool = False) -> None:
        self._moving: dict[str, DrawAccumulator[Sizes]] = {}

        def begin(name: str, value: Array) -> None:
            self._moving[name] = DrawAccumulator(value, Sizes(value), about_mean=about_mean)

        named = {name: value for name, value in values.items() if numeric(value)}
        run_all([partial(begin, name, value) for name, value in named.items()])
        self._names = list(named)

    def add(self, name: str, draw: Any) -> None:  # noqa: ANN401
        """One tensor of one draw."""
        if name in self._moving:
            self._moving[name].add(draw)

    def statistics(self, draws: int) -> dict[str, Moved]:
        """What became of each tensor in so many draws."""
        return {name: self._moving[name].finish().moved(draws) for name in self._names}


class Sizes:
    """The statistic of a whole tensor: rms and largest size of its steps.

    What is not finite does not move.
    """

    def __init__(self, value: Array) -> None:
        self._value, self._mark = value, fingerprint(value)
        release_pages(value)
        self._all, self._few = _Sums(), _Sums()
        self._limit = 0.0
        self._small: Array | None = None
        self._lost = False

    def add(self, step: Step) -> None:
        """Add one draw."""
        self._all.add(_pieces(step))
        if self._all.draws == 1:
            self._small = self._unseen()
        if self._small is not None:
            size = step.difference()
            size[~np.isfinite(size)] = 0.0
            self._few.add([size[self._small]])
        release_pages(self._value)

    def lose(self) -> None:
        """Note that even the shape changed under noise: the tensor can be anything."""
        self._lost = True

    def _unseen(self) -> Array | None:
        """Where the elements are that the first draw shows to be within the noise.

        Without any draw, that is what float64 rounds beside the numbers of a mask.
        """
        self._limit = self._all.rms + FLOAT64_ORDER * self._mark.rms
        if not self._all.draws and self._limit < _HIDES_ONE:
            return None
        size = self._value.size
        flat = self._value.reshape(-1)
        parts = (flat[at : at + PIECE] for at in range(0, size, PIECE))
        count = sum(int(np.count_nonzero(within(part, self._limit))) for part in parts)
        many = _FEWEST_UNSEEN * count >= size or self._limit >= _HIDES_ONE
        return within(self._value, self._limit) if count and many else None

    def moved(self, draws: int) -> Moved:
        """What became of the tensor; anything, unless each of so many draws returned it."""
        if self._lost or self._all.draws != draws:
            return Moved(mark=self._mark, rms=np.inf, peak=np.inf)
        if not draws:
            self._small = self._unseen()
        unseen = None if self._small is None else (self._limit, self._few.rms, self._few.peak)
        return Moved(mark=self._mark, rms=self._all.rms, peak=self._all.peak, unseen=unseen)


class _Sums:
    """Mean square and largest size over all draws."""

    def __init__(self) -> None:
        self.draws, self._squares, self.peak = 0, 0.0, 0.0

    def add(self, steps: Iterable[Array]) -> None:
        """One draw, in pieces."""
        self.draws += 1
        squares, elements = 0.0, 0
        for step in steps:
            squares += float(np.dot(step, step))
            elements += step.size
            if step.size:
                self.peak = max(self.peak, float(step.max()), -float(step.min()))
        self._squares += squares / max(elements, 1)

    @property
    def rms(self) -> float:
        return float(np.sqrt(self._squares / self.draws)) if self.draws else 0.0


def _pieces(step: Step) -> Iterator[Array]:
    """Yield the difference of a draw, zero where it is not finite, in flat pieces.

    Each is gone when the next one comes: small ones stay in the cache of the processor.
    """
    draw, center = step.draw.reshape(-1), step.center.reshape(-1)
    for at in range(0, draw.size, PIECE):
        part = slice(at, at + PIECE)
        size = Step(draw=draw[part], center=center[part]).difference()
        finite = np.isfinite(size)
        if not finite.all():
            size[~finite] = 0.0
        yield size


def within(value: Array, limit: float) -> Array:
    """Where a tensor of floats is neither zero nor larger than that.

    Beside the huge numbers of a mask, whose noise hides a whole one, zeros count as well: they are
    what is not masked.
    """
    if value.dtype.kind != "f":
        return np.zeros(value.shape, bool)
    small = np.abs(value) <= limit
    return np.asarray(small if limit >= _HIDES_ONE else small & (value != 0))

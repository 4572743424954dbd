"""What one graph computes on one sample, tensor by tensor, and how far rounding moves each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.chance import freedom
from isomorph.core.errors import IsomorphError
from isomorph.core.system_memory import usual_share
from isomorph.match.tensor_cache import Layered, TensorCache, batches, held
from isomorph.match.topology import Topology
from isomorph.oracle.fingerprint import Fingerprint, fingerprint
from isomorph.oracle.noise_stats import Moved, Moving, disturbed, mean, numeric
from isomorph.sessions.memory_estimate import in_float64

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise

DRAWS = 4
"""A root mean square over a whole tensor is steady after few draws."""

_HELD_AT_ONCE = DRAWS + 2
"""Of one batch: its values, its draws where they are kept, and what is being computed."""


NODE_FAILED = "NODE_FAILED"
"""The code of the error of an oracle that could not compute a node from what it got."""

_AT_A_TIME = 64 << 20
"""Constants that are read in one go: they come in float64, and are in memory three times then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The mean of many draws of one tensor, their rms about it, and how surely that is known."""

    center: Array = field(repr=False, compare=False)
    rms: float
    freedom: float


class TensorCapture:
    """One side: its graph, its oracle and the feeds.

    Without ``noise`` it is a run that is looked at, in a runtime: what it gives is what it is.
    Of each tensor a fingerprint is kept, and its values only as far as ``memory_bytes`` go: what
    does not fit is looked at batch by batch, each fed with what the one before it left. Of the
    elements that lie within a tensor's own noise, if they are many, ``unseen`` keeps that limit
    and their noise alone.
    """

    def __init__(
        self,
        graph: Graph,
        oracle: Session,
        feeds: Arrays,
        noise: Noise | None,
        *,
        memory_bytes: int | None = None,
    ) -> None:
        self.graph, self.oracle, self.feeds, self.noise = graph, oracle, feeds, noise
        self.topology = Topology(graph)
        self.names = [name for name in self.topology.maker if name in self.topology.live]
        self._fed = {name: np.asarray(value) for name, value in feeds.items() if numeric(value)}
        self._room = (memory_bytes or usual_share()) // 4
        self._sizes = in_float64(graph, feeds)
        self.values: Mapping[str, Array] = {}
        self.prints: dict[str, Fingerprint] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.spread: dict[str, float] = {}
        self.peak: dict[str, float] = {}
        self.unseen: dict[str, tuple[float, float, float]] = {}
        self.draws = DRAWS
        self._stored: dict[str, Any] = {}
        self._drawn: dict[tuple[str, int], Drawn] = {}

    def look(self, draws: int = DRAWS) -> None:
        """Compute every tensor, its fingerprint, and the rms and peak by which noise moves it."""
        self.draws = draws
        for name, value in self._fed.items():
            self._note(name, Moved(mark=fingerprint(value)), value.shape)
        pieces = self._batches(self.names)
        kept = self._remembered(pieces, {})
        noises = [] if self.noise is None else [replace(self.noise, seed=n) for n in range(draws)]
        looked = self._looked_there(noises) if len(pieces) == 1 else self._looked_by(pieces, noises)
        for place, (found, moving) in enumerate(looked):
            values = self._numbers(found, pieces[place])
            for name, value in values.items():
                self._note(name, moving[name], value.shape)
            kept.put(place, values)
        self.values = Layered(kept, self._fed)

    def _looked_there(self, noises: Sequence[Noise]) -> Iterator[tuple[Arrays, dict[str, Moved]]]:
        """All at once, where the oracle is: in its worker, if it has one."""
        there = getattr(self.oracle, "disturbed", None)
        if there is not None and noises:
            yield there(self.feeds, self.names, noises)
        else:
            yield disturbed(self.oracle, self.feeds, self.names, noises)

    def _looked_by(
        self, pieces: Sequence[Sequence[str]], noises: Sequence[Noise]
    ) -> Iterator[tuple[Arrays, dict[str, Moved]]]:
        """Piece by piece, each run fed with what it left of the piece before."""
        carried: list[dict[str, Any]] = [{} for _ in (None, *noises)]
        last = self._last_read(pieces)
        for place, batch in enumerate(pieces):

            def run(
                each: int, noise: Noise | None, place: int = place, batch: Sequence[str] = batch
            ) -> Arrays:
                feeds = {**self.feeds, **carried[each]}
                found = (
                    self.oracle.run(feeds, list(batch))
                    if noise is None
                    else self.oracle.run(feeds, list(batch), noise=noise)
                )
                left = {**carried[each], **{name: found[name] for name in batch}}
                carried[each] = {name: left[name] for name in left if last.get(name, -1) > place}
                return found

            values = run(0, None)
            moving = Moving(values, about_mean=any(noise.quantizers for noise in noises))
            for each, noise in enumerate(noises, 1):
                for name, draw in run(each, noise).items():
                    moving.add(name, draw)
            yield values, moving.told(len(noises))

    def _note(self, name: str, found: Moved, shape: tuple[int, ...]) -> None:
        """What is kept of a tensor when its values are let go."""
        self.prints[name], self.shapes[name] = found.mark, shape
        self.spread[name], self.peak[name] = found.rms, found.peak
        if found.unseen is not None:
            self.unseen[name] = found.unseen

    def _last_read(self, pieces: Sequence[Sequence[str]]) -> dict[str, int]:
        """The last batch for which each tensor is needed."""
        return {
            source: place
            for place, batch in enumerate(pieces)
            for name in batch
            for source in self.topology.reads(self.topology.maker[name])
        }

    def _batches(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        return batches(names, self._sizes, self._room // _HELD_AT_ONCE)

    def _remembered(
        self, pieces: Sequence[Sequence[str]], given: Mapping[str, Array]
    ) -> TensorCache:
        return TensorCache(pieces, lambda batch: self.run(batch, given), self._room)

    def with_given(self, given: Mapping[str, Array]) -> Mapping[str, Array]:
        """Every tensor, with these replaced: what lies behind them is computed when asked for.

        What cannot be computed from them stays as it was.
        """
        if not given:
            return self.values
        behind = self.topology.below(given)
        changed = [name for name in self.names if name in behind and name in self.values]

        def compute(batch: Sequence[str]) -> Mapping[str, Array]:
            found = self.run(batch, given)
            return {**{name: self.values[name] for name in batch if name not in found}, **found}

        fresh = TensorCache(self._batches(changed), compute, self._room)
        return Layered(dict(given), fresh, self.values)

    def stored(self, names: Sequence[str]) -> Mapping[str, Array]:
        """Constants, read when they are asked for; what cannot be read has no value."""
        shapes = {name: self.graph.constants[name].shape for name in names}
        sizes = {name: 8 * math.prod(shape) for name, shape in shapes.items()}
        pieces = batches(names, sizes, min(_AT_A_TIME, self._room // _HELD_AT_ONCE))
        return TensorCache(pieces, self._read, self._room)

    def _read(self, batch: Sequence[str]) -> dict[str, Array]:
        try:
            return self._numbers(self.oracle.run({}, list(batch)), batch)
        except IsomorphError:
            # One of them is to blame; the others are there.
            half = len(batch) // 2
            return {**self._read(batch[:half]), **self._read(batch[half:])} if half else {}

    def run(
        self, names: Iterable[str], given: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Values of these tensors, float64 from an oracle, with some others replaced.

        A node of an oracle that does not take what was put before it leaves no value behind it.
        """
        given = given or {}
        changed = self.topology.below(given) | set(given)
        wanted = dict.fromkeys(names)
        known = {name: self.values[name] for name in wanted if self._stays(name, changed)}
        rest = [name for name in wanted if name not in known]
        if not rest:
            return known
        border = {name: self.values[name] for name in self._border(rest, given, changed)}
        try:
            found = self._computed(rest, {**border, **given})
        except (IsomorphError, ValueError):
            if not border and not given:
                raise
            # Not everything that can be looked at can be put in again.
            found = self._as_far(rest, given)
        return {name: {**known, **found}[name] for name in wanted if name in known or name in found}

    def _as_far(self, names: Sequence[str], given: Mapping[str, Array]) -> dict[str, Array]:
        """What can be computed of these.

        One output of a node may be replaced by one of another size, while a reader of both still
        gets the other as it was.
        """
        found: dict[str, Array] = {}
        rest = [name for name in self.names if name in set(names)]
        rest += [name for name in names if name not in set(rest)]
        while rest:
            try:
                return {**found, **self._computed(rest, given)}
            except IsomorphError as error:
                if self.noise is None or not given or error.code != NODE_FAILED:
                    raise
            # The first so many can be computed; with the next one they cannot.
            able, unable = 0, len(rest)
            while unable - able > 1:
                some = (able + unable) // 2
                try:
                    found.update(self._computed(rest[:some], given))
                    able = some
                except IsomorphError:
                    unable = some
            without = {rest[able], *self.topology.below([rest[able]])}
            rest = [name for name in rest[unable:] if name not in without]
        return found

    def drawn(self, name: str, draws: int) -> Drawn:
        """A tensor as its noise leaves it, in so many draws."""
        if (name, draws) not in self._drawn:
            self._drawn[name, draws] = self._newly_drawn(name, draws)
        return self._drawn[name, draws]

    def _newly_drawn(self, name: str, draws: int) -> Drawn:
        noise = self.noise
        if noise is None:
            return Drawn(center=self.values[name], rms=0.0, freedom=math.inf)
        noises = [replace(noise, seed=n) for n in range(draws)]
        drawn = [self.oracle.run(self.feeds, [name], noise=each)[name] for each in noises]
        center = mean(self.values[name], drawn)
        errors = [apart(np.asarray(each), center)[0] for each in drawn]
        squares = [each * each for each in errors]  # "**" raises where a product is infinite
        rms = math.sqrt(sum(squares) / max(draws - 1, 1))
        return Drawn(center=center, rms=rms, freedom=freedom(squares))

    def _computed(self, names: Sequence[str], given: Mapping[str, Array]) -> dict[str, Array]:
        placed = {name: self._as_stored(name, value) for name, value in given.items()}
        return self._numbers(self.oracle.run({**self.feeds, **placed}, list(names)), names)

    def _stays(self, name: str, changed: set[str]) -> bool:
        """Whether a value that has been seen is at hand, and holds with ``changed`` replaced.

        A runtime is not an oracle: cut elsewhere, it may fuse otherwise and compute another value.
        """
        oracle = self.noise is not None
        return oracle and name not in changed and name not in self._fed and held(self.values, name)

    def _border(
        self, names: Sequence[str], given: Mapping[str, Array], changed: set[str]
    ) -> Iterator[str]:
        """Known tensors which, fed, leave nothing to compute of what did not change."""
        reached = {*names, *given}
        open_ends = [name for name in names if name not in given]
        while open_ends:
            maker = self.topology.maker.get(open_ends.pop())
            for source in self.topology.reads(maker) if maker is not None else ():
                if source in reached:
                    continue
                reached.add(source)
                if self._stays(source, changed):
                    yield source
                else:
                    open_ends.append(source)

    def _numbers(self, result: Mapping[str, Any], names: Iterable[str]) -> dict[str, Array]:
        values = {name: np.asarray(result[name]) for name in names if numeric(result[name])}
        self._stored.update({name: value.dtype for name, value in values.items()})
        # What NumPy has no kind for (bfloat16, float8) is compared as float64, exactly.
        return {n: v if v.dtype.kind in "fiub" else v.astype(float) for n, v in values.items()}

    def _as_stored(self, name: str, value: Array) -> Array:
        """In the type in which this side holds the tensor."""
        dtype = self._stored.get(name, value.dtype)
        with np.errstate(over="ignore"):
            return value if value.dtype == dtype else np.ascontiguousarray(value.astype(dtype))


def apart(left: Array, right: Array) -> tuple[float, float]:
    """Rms and largest size of the difference; infinite where NaN or infinities do not coincide."""
    if left.shape != right.shape:
        return float("inf"), float("inf")
    if not left.size:
        return 0.0, 0.0
    with np.errstate(all="ignore"):
        a, b = left.astype(np.float64), right.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        step = np.abs(np.where(same, 0.0, a - b))
        step = np.where(np.isnan(step), np.inf, step)
        return float(np.sqrt(np.mean(np.square(step)))), float(np.max(step))

"""Capture every tensor of a graph on one sample, and how far rounding moves each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.batching import batches
from isomorph.core.errors import IsomorphError
from isomorph.core.stated_numbers import TENSOR_DRAWS
from isomorph.core.system_memory import default_worker_memory
from isomorph.match.drawn_tensors import drawn_tensors
from isomorph.match.tensor_cache import LayeredTensors, TensorCache, in_memory
from isomorph.match.topology import Topology
from isomorph.oracle.dtypes import numeric
from isomorph.oracle.fingerprint import Fingerprint, fingerprint
from isomorph.oracle.noise_stats import DisturbsTensors, Moved, Moving, disturbed
from isomorph.sessions.fetched_feeds import as_type, converted
from isomorph.sessions.memory_estimate import in_float64

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays, Noise
    from isomorph.match.drawn_tensors import Drawn

_COPIES_AT_ONCE = TENSOR_DRAWS + 2
"""Copies of one batch: its values, its draws where they are kept, and what is being computed."""


NODE_FAILED = "NODE_FAILED"
"""The error code of an oracle that could not compute a node from its inputs."""

_READ_BYTES = 64 << 20
"""Bytes of constants that are read at once, in float64; they are in memory three times then."""


@dataclass(frozen=True, slots=True)
class _Base:
    """Values that were computed before, and the tensors of which they are not those asked for."""

    values: Mapping[str, Array]
    changed: set[str]


class TensorCapture:
    """The tensors of one graph on one sample, computed by its oracle or its runtime.

    Without ``noise`` the session is a runtime, and its values have no spread. A fingerprint of
    every tensor is kept, and the values as far as ``memory_bytes`` allow: what does not fit is
    computed in batches, each fed with results of the batch before. If many elements of a tensor lie
    within its noise, ``unseen`` holds that limit and the noise of these elements.
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
        self._memory_bytes = (memory_bytes or default_worker_memory()) // 4
        self._sizes = in_float64(graph, feeds)
        self.values: Mapping[str, Array] = {}
        self.prints: dict[str, Fingerprint] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.spread: dict[str, float] = {}
        self.peak: dict[str, float] = {}
        self.unseen: dict[str, tuple[float, float, float]] = {}
        self.draws = TENSOR_DRAWS
        self._stored: dict[str, Any] = {}
        self._drawn: dict[tuple[str, int], Drawn] = {}
        self._substituted: tuple[Mapping[str, Array], Mapping[str, Array]] = ({}, {})
        """The tensors that were substituted last, and all values with them."""
        self._left: set[str] = set()
        """Tensors that could not be computed with those, and kept their values."""

    def compute(self, draws: int = TENSOR_DRAWS) -> None:
        """Compute every tensor, its fingerprint, and the rms and the peak of its noise."""
        self.draws = draws
        for name, value in self._fed.items():
            self._record(name, Moved(mark=fingerprint(value)), value.shape)
        pieces = self._batches(self.names)
        kept = self._cache(pieces, {})
        noises = self.noises(draws)
        computed = (
            self._all_at_once(noises) if len(pieces) == 1 else self._batch_by_batch(pieces, noises)
        )
        for place, (found, moving) in enumerate(computed):
            values = self._numbers(found, pieces[place])
            for name, value in values.items():
                self._record(name, moving[name], value.shape)
            kept.put(place, values)
        self.values = LayeredTensors(kept, self._fed)

    def noises(self, draws: int) -> list[Noise]:
        """Return the noise of each draw."""
        return [] if self.noise is None else [replace(self.noise, seed=n) for n in range(draws)]

    @property
    def at_once(self) -> bool:
        """Whether all tensors are computed at once, and not batch by batch."""
        return len(self._batches(self.names)) == 1

    def _all_at_once(self, noises: Sequence[Noise]) -> Iterator[tuple[Arrays, dict[str, Moved]]]:
        """Compute all tensors at once; inside the oracle's worker, if it has one."""
        if isinstance(self.oracle, DisturbsTensors) and noises:
            found = self.oracle.disturbed(self.feeds, self.names, noises)
        else:
            found = disturbed(self.oracle, self.feeds, self.names, noises)
        yield found.values, found.moved

    def _batch_by_batch(
        self, pieces: Sequence[Sequence[str]], noises: Sequence[Noise]
    ) -> Iterator[tuple[Arrays, dict[str, Moved]]]:
        """Compute batch by batch; each run is fed with its results of the batch before."""
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
            yield values, moving.statistics(len(noises))

    def _record(self, name: str, found: Moved, shape: tuple[int, ...]) -> None:
        """Keep the statistics of a tensor, whose values may be dropped."""
        self.prints[name], self.shapes[name] = found.mark, shape
        self.spread[name], self.peak[name] = found.rms, found.peak
        if found.unseen is not None:
            self.unseen[name] = found.unseen

    def _last_read(self, pieces: Sequence[Sequence[str]]) -> dict[str, int]:
        """Return the last batch that needs each tensor."""
        return {
            source: place
            for place, batch in enumerate(pieces)
            for name in batch
            for source in self.topology.reads(self.topology.maker[name])
        }

    def _batches(self, names: Sequence[str]) -> list[list[str]]:
        at_once = self._memory_bytes // _COPIES_AT_ONCE
        return batches(names, lambda name: self._sizes.get(name, 0), at_once)

    def _cache(self, pieces: Sequence[Sequence[str]], given: Mapping[str, Array]) -> TensorCache:
        return TensorCache(pieces, lambda batch: self.run(batch, given), self._memory_bytes)

    def with_given(self, given: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return every tensor with these replaced; what depends on them is computed on demand.

        What cannot be computed from them keeps its value. The search, the alignment and the
        profile ask for the same substitution one after the other: its values are kept.
        """
        if not given:
            return self.values
        if self._substitutes(given):
            return self._substituted[1]
        behind = self.topology.below(given)
        changed = [name for name in self.names if name in behind and name in self.values]
        self._left = left = set[str]()

        def compute(batch: Sequence[str]) -> Mapping[str, Array]:
            found = self.run(batch, given)
            unable = [name for name in batch if name not in found]
            left.update(unable)
            return {**{name: self.values[name] for name in unable}, **found}

        fresh = TensorCache(self._batches(changed), compute, self._memory_bytes)
        self._substituted = dict(given), LayeredTensors(dict(given), fresh, self.values)
        return self._substituted[1]

    def _base(self, given: Mapping[str, Array]) -> _Base:
        """Return the values that stay with these replaced: of the run, or of the last substitution.

        A search corrects one tensor after the other, and tries each further one with all before.
        """
        last, values = self._substituted
        extended = last and all(given.get(name) is last[name] for name in last)
        if not extended or self.noise is None:
            return _Base(self.values, self.topology.below(given) | set(given))
        more = given.keys() - last.keys()
        return _Base(values, self.topology.below(more) | set(given) | self._left)

    def _substitutes(self, given: Mapping[str, Array]) -> bool:
        """Whether these very arrays were substituted last."""
        last = self._substituted[0]
        return given.keys() == last.keys() and all(last[name] is given[name] for name in given)

    def stored(self, names: Sequence[str]) -> Mapping[str, Array]:
        """Return constants that are read on demand; one that cannot be read is missing."""
        shapes = {name: self.graph.constants[name].shape for name in names}
        sizes = {name: 8 * math.prod(shape) for name, shape in shapes.items()}
        pieces = batches(
            names, sizes.__getitem__, min(_READ_BYTES, self._memory_bytes // _COPIES_AT_ONCE)
        )
        return TensorCache(pieces, self._read, self._memory_bytes)

    def _read(self, batch: Sequence[str]) -> dict[str, Array]:
        try:
            return self._numbers(self.oracle.run({}, list(batch)), batch)
        except IsomorphError:
            # One of them cannot be read; the others can.
            half = len(batch) // 2
            return {**self._read(batch[:half]), **self._read(batch[half:])} if half else {}

    def run(
        self, names: Iterable[str], given: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Return the values of these tensors, float64 from an oracle, with others replaced.

        Tensors after a node that rejects the replaced values are missing.
        """
        given = given or {}
        base = self._base(given)
        requested = dict.fromkeys(names)
        known = {name: base.values[name] for name in requested if self._stays(name, base)}
        missing = [name for name in requested if name not in known]
        if not missing:
            return known
        known_inputs = {
            name: base.values[name] for name in self._known_inputs(missing, given, base)
        }
        try:
            found = self._computed(missing, {**known_inputs, **given})
        except (IsomorphError, ValueError):
            if not known_inputs and not given:
                raise
            # Not every tensor that can be fetched can be fed.
            found = self._computable(missing, given)
        return {
            name: {**known, **found}[name] for name in requested if name in known or name in found
        }

    def run_ahead(self, names: Sequence[str], given: Mapping[str, Array]) -> dict[str, Array]:
        """Return these tensors with others replaced, and keep all that depends on those."""
        values = self.with_given(given)
        for name in names:
            values.get(name)
        return self.run(names, given)

    def fetched(self, name: str, given: Mapping[str, Array] | None = None) -> Array:
        """Return one tensor or constant as the session returns it, with others replaced."""
        return np.asarray(self.oracle.run({**self.feeds, **(given or {})}, [name])[name])

    def _computable(self, names: Sequence[str], given: Mapping[str, Array]) -> dict[str, Array]:
        """Compute as many of these as possible.

        One output of a node may be replaced by one of another size, while a reader of both still
        gets the other output unchanged.
        """
        found: dict[str, Array] = {}
        missing = [name for name in self.names if name in set(names)]
        missing += [name for name in names if name not in set(missing)]
        while missing:
            try:
                return {**found, **self._computed(missing, given)}
            except IsomorphError as error:
                if self.noise is None or not given or error.code != NODE_FAILED:
                    raise
            # The first so many can be computed; with the next one they cannot.
            able, unable = 0, len(missing)
            while unable - able > 1:
                some = (able + unable) // 2
                try:
                    found.update(self._computed(missing[:some], given))
                    able = some
                except IsomorphError:
                    unable = some
            without = {missing[able], *self.topology.below([missing[able]])}
            missing = [name for name in missing[unable:] if name not in without]
        return found

    def drawn(self, name: str, draws: int) -> Drawn:
        """Return the mean and the spread of a tensor over ``draws`` draws of its noise."""
        self.draw_together([name], draws)
        return self._drawn[name, draws]

    def draw_together(self, names: Iterable[str], draws: int) -> None:
        """Draw these tensors in the same runs, for ``drawn``; as many at once as memory holds.

        The noise of a node does not depend on what is fetched, so each is drawn as if alone.
        """
        missing = [name for name in dict.fromkeys(names) if (name, draws) not in self._drawn]
        at_once = self._memory_bytes // (draws + 2)
        for batch in batches(missing, lambda name: self._sizes.get(name, 0), at_once):
            values = {name: self.values[name] for name in batch}
            found = drawn_tensors(self.oracle, self.feeds, values, self.noise, draws)
            self._drawn |= {(name, draws): each for name, each in found.items()}

    def computed_from(
        self, given: Mapping[str, Array], name: str, noise: Noise | None = None
    ) -> Array:
        """Return a tensor computed from others, with noise in the nodes between alone."""
        feeds = {**self.feeds, **self._placed(given)}
        found = self.oracle.run(feeds, [name], noise=noise)
        return self._numbers(found, [name])[name]

    def _computed(self, names: Sequence[str], given: Mapping[str, Array]) -> dict[str, Array]:
        feeds = {**self.feeds, **self._placed(given)}
        return self._numbers(self.oracle.run(feeds, list(names)), names)

    def _placed(self, given: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return tensors in the types in which the session returns them."""
        known = {name: as_type(self._stored[name]) for name in given if name in self._stored}
        return converted(given, known)

    def _stays(self, name: str, base: _Base) -> bool:
        """Whether a value of the base is there, and still valid with what is replaced.

        This is never so of a runtime: cut elsewhere, it may fuse other nodes and compute another
        value.
        """
        oracle = self.noise is not None
        return (
            oracle
            and name not in base.changed
            and name not in self._fed
            and in_memory(base.values, name)
        )

    def _known_inputs(
        self, names: Sequence[str], given: Mapping[str, Array], base: _Base
    ) -> Iterator[str]:
        """Yield known tensors that, when fed, save computing what did not change."""
        reached = {*names, *given}
        open_ends = [name for name in names if name not in given]
        while open_ends:
            maker = self.topology.maker.get(open_ends.pop())
            for source in self.topology.reads(maker) if maker is not None else ():
                if source in reached:
                    continue
                reached.add(source)
                if self._stays(source, base):
                    yield source
                else:
                    open_ends.append(source)

    def _numbers(self, result: Mapping[str, Any], names: Iterable[str]) -> dict[str, Array]:
        values = {name: np.asarray(result[name]) for name in names if numeric(result[name])}
        self._stored.update({name: value.dtype for name, value in values.items()})
        # Types that NumPy has no kind for (bfloat16, float8) are exact in float64.
        return {n: v if v.dtype.kind in "fiub" else v.astype(float) for n, v in values.items()}

"""Monte-Carlo arithmetic: disturb each operation by the rounding it would have had.

A kernel computes in float64 and hands every rounded step to its ``NoiseSource``. The silent
one gives the step back untouched, so one kernel serves the oracle and its noise.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isomorph.core.memory import share_of_memory
from isomorph.core.threads import run_all, thread_count
from isomorph.oracle.exact_sums import Exact
from isomorph.oracle.magnitudes import CACHE_BYTES, KeptSizes

if TYPE_CHECKING:
    from isomorph.core.trace import Noise

Array = NDArray[Any]

UNIT_ROUNDOFF: dict[str, float] = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    # Tensor cores drop the digits behind, which is up to two roundings.
    "tf32": 2.0**-10,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e4m3fnuz": 2.0**-4,
    "float8_e5m2": 2.0**-3,
    "float8_e5m2fnuz": 2.0**-3,
}
"""Half the spacing of 1.0: the largest relative error of one rounding."""


SMALLEST_NORMAL = 2.0**-126
"""Of float32; float16 has its own when it is stored, and bfloat16 the same."""


def unit_roundoff(dtype: str | None) -> float:
    """Zero for a type that does not round."""
    return UNIT_ROUNDOFF.get(dtype or "", 0.0)


def least_rounding(dtype: str | None) -> float:
    """Half the spacing of the subnormal numbers of a type that models reach them in, or zero."""
    return 2.0**-25 if dtype == "float16" else 0.0


class NoiseSource(Protocol):
    """What a kernel may ask of the noise."""

    active: bool
    quantizers: bool
    """Quantizers are to act as the identity plus the rounding of an ideal one."""
    run_time: bool
    """Kernels that quantize their operands where no graph shows it are to disturb them."""
    scale: float
    """How many times wider than the rounding of the types the disturbance is."""

    @property
    def random(self) -> np.random.Generator:
        """Numbers that belong to the node at hand."""
        ...

    def rounded(self, y: Array, magnitude: Array | float | None = None) -> Array:
        """``y`` after an elementwise step whose largest intermediate is ``magnitude``.

        Without one the step is a single operation of the hardware (+ − × ÷ √), which is rounded
        at its result, and not at all where that fits the type.
        """
        ...

    def added(self, y: Array, *operands: Array) -> Array:
        """``y`` after one sum, difference or product of these numbers.

        Where all of them are numbers of the type, the result is one of the two numbers of the type
        beside ``y`` on every runtime, and is not moved beyond them.
        """
        ...

    def reduced(
        self,
        y: Array,
        magnitude: Callable[[], Array],
        length: int,
        exact: Exact | None = None,
    ) -> Array:
        """``y`` after summing ``length`` products; ``magnitude`` gives the sum of their sizes.

        ``exact`` returns where no arithmetic rounds any of these sums.
        """
        ...


PIECE = 1 << 15
"""Numbers that are disturbed at a time: all that is computed on the way stays in the cache."""

_PART = 2 * PIECE
"""Numbers that one thread disturbs: a third of a millisecond, far more than to start it."""

_WORD = np.dtype("<u4")
"""The words that a generator is seeded with."""

_PER_WORD = 4
"""Numbers that are made of one random word."""

_OF_EVEN_STEPS = np.float32(math.sqrt(12.0 / (2.0**32 - 1.0)))
"""One over the deviation of 2**16 numbers at distances of 1."""


class NoNoise:
    """No noise: the oracle itself."""

    active = False
    quantizers = run_time = False
    scale = 1.0
    random = np.random.default_rng(0)

    def rounded(self, y: Array, *_: Any, **__: Any) -> Array:  # noqa: ANN401
        """Exactly ``y``."""
        return y

    added = reduced = rounded


class Rounding:
    """Noise of the size of the arithmetic's own rounding.

    ``unit`` is the unit roundoff of the arithmetic; zero where only the quantizers are asked.
    ``scale`` multiplies what is drawn, not the unit that decides whether a result is exact.
    ``enter`` begins a node: its noise depends on the seed and the node's ``site`` alone, not on
    what ran before, so that a piece of the graph is disturbed as the whole would be.
    Magnitudes of long sums are kept between draws (they change by rounding only), as long as
    they fit into ``cache_bytes``; the key is the site and the how-manieth sum within it.
    """

    active = True

    def __init__(
        self,
        seed: int,
        *,
        quantizers: bool = False,
        run_time: bool = False,
        scale: float = 1.0,
        cache: KeptSizes | None = None,
        cache_bytes: int | None = None,
    ) -> None:
        self.seed = seed
        self.quantizers, self.run_time = quantizers, quantizers or run_time
        self.scale = scale
        self.unit = UNIT_ROUNDOFF["float32"]
        self._cache = KeptSizes() if cache is None else cache
        self._most = share_of_memory(CACHE_BYTES) if cache_bytes is None else cache_bytes
        self._site: Any = None
        self._step = 0
        self._random: np.random.Generator | None = None

    def enter(self, site: Any, unit: float) -> None:  # noqa: ANN401
        """Begin a node: everything until the next call belongs to it."""
        self._site, self._step, self.unit = site, 0, unit
        self._random = None

    @property
    def random(self) -> np.random.Generator:
        """Made when a node first asks: many never do, and making one costs more than they do."""
        if self._random is None:
            self._random = generator(self.seed, self._site)
        return self._random

    def rounded(self, y: Array, magnitude: Array | float | None = None) -> Array:
        """One unit of the largest intermediate, as one standard deviation."""
        if self.unit == 0.0 or y.dtype.kind != "f":
            return y
        if magnitude is not None:
            return self._disturb(y, lambda _, size: np.abs(size), magnitude)
        return self._disturb(y, self._single)

    def added(self, y: Array, *operands: Array) -> Array:
        """As a single operation; not past a neighbor where the operands are stored numbers."""
        moved = self.rounded(y)
        if moved is y or self.unit != UNIT_ROUNDOFF["float32"]:
            return moved
        if not all(_may_be_stored(each) for each in operands):
            return moved
        with np.errstate(over="ignore", invalid="ignore"):
            stored = np.broadcast_to(np.True_, y.shape)
            for each in operands:
                stored = stored & (each.astype(np.float32) == each)
            nearest = y.astype(np.float32)
            # The neighbor on the other side of y.
            toward = np.where(nearest > y, -np.inf, np.inf).astype(np.float32)
            other = np.where(nearest == y, nearest, np.nextafter(nearest, toward))
            low, high = np.minimum(nearest, other), np.maximum(nearest, other)
            inside = stored & np.isfinite(low) & np.isfinite(high)
            return np.where(inside, np.clip(moved, low, high), moved)

    def reduced(
        self,
        y: Array,
        magnitude: Callable[[], Array],
        length: int,
        exact: Exact | None = None,
    ) -> Array:
        """Standard deviation u·hypot(Σ|ab|, √k·|Σab|).

        Measured sums sit at about a quarter of it for lengths of 64 to 4608 in both sign
        regimes; √k·u·Σ|ab| is a hundred times too wide and hides faults.
        """
        if self.unit == 0.0 or y.dtype.kind != "f":
            return y
        self._step += 1
        key = (self._site, self._step)
        total = self._cache.get(key)
        if total is None or total.shape != y.shape:
            total = np.asarray(magnitude())
            if total.nbytes <= 2 * (self._most - self._cache.held):
                # Seven digits are plenty for a size; what exceeds float32 is infinite, as it is.
                with np.errstate(over="ignore"):
                    total = total.astype(np.float32)
                self._cache.keep(key, total)
        counting = _may_count(y)

        def spread(own: Array, total: Array) -> Array:
            size = np.multiply(own, own)
            size *= float(max(length, 1))
            size += np.multiply(total, total, dtype=np.float64)
            size = np.sqrt(size)
            return np.where(self._counts(own, total), 0.0, size) if counting else size

        moved = self._disturb(y, spread, total)
        if exact is not None:
            np.copyto(moved, y, where=exact(y, total, self.unit))
        return moved

    def _single(self, y: Array) -> Array:
        """The size of a single operation's result; nothing where that is a number of the type."""
        size = np.asarray(np.abs(y))
        # Of float64 that cannot be known.
        if self.unit == UNIT_ROUNDOFF["float32"]:
            size[y.astype(np.float32) == y] = 0.0
        return size

    def _counts(self, y: Array, total: Array) -> Array:
        """Where a sum is one of integers, none of them too large to be added exactly."""
        whole = (y == np.rint(y)) & (total == np.rint(total))
        return np.asarray(whole & (total * self.unit <= 1.0))

    def _disturb(
        self, y: Array, sizes: Callable[..., Array], *beside: Array | float | np.floating[Any]
    ) -> Array:
        """``y`` moved by about what ``sizes`` makes of it and of what lies beside it."""
        with np.errstate(over="ignore", invalid="ignore"):
            # A single piece needs no cutting, which takes longer than to disturb a few numbers.
            if y.size <= PIECE or not _alike(y, *beside):
                step = self._steps(self.random, y, sizes(y, *beside))
                return np.asarray(y + step, dtype=y.dtype)
            moved = np.empty_like(y)
            flat: list[Any] = [
                np.reshape(each, -1) if np.ndim(each) else each for each in (y, *beside)
            ]
            into = moved.reshape(-1)

            def disturb(first: int, last: int, random: np.random.Generator) -> None:
                for start in range(first, last, PIECE):
                    piece = slice(start, min(start + PIECE, last))
                    own, *others = (each[piece] if np.ndim(each) else each for each in flat)
                    step = self._steps(random, own, sizes(own, *others))
                    np.add(own, step, out=into[piece], casting="same_kind")

            disturb_in_parts(self.random, y.size, disturb)
            return moved

    def _steps(self, random: np.random.Generator, own: Array, size: Array) -> Array:
        wide = self.unit < UNIT_ROUNDOFF["float32"]
        if not (wide or np.minimum.reduce(size, axis=None, initial=np.inf) >= SMALLEST_NORMAL):
            # Below the smallest normal number the spacing no longer shrinks with the number.
            subnormal = np.less(size, SMALLEST_NORMAL) & np.not_equal(size, 0)
            size = np.where(subnormal, SMALLEST_NORMAL, size) if subnormal.any() else size
        # The unit and the scale are powers of two and may as well be multiplied first.
        step = self._drawn(random, own, self.scale * self.unit) * size
        # An infinite or NaN magnitude must not turn a finite result into NaN, and a
        # non-finite result keeps its kind.
        if math.isfinite(np.add.reduce(step, axis=None)):
            return step
        return np.where(np.isfinite(step), step, 0.0)

    def _drawn(self, random: np.random.Generator, own: Array, deviation: float) -> Array:
        """Numbers of this deviation, one for each of these results."""
        return spread_evenly(random, own.shape, deviation)


def _alike(y: Array, *beside: Array | float | np.floating[Any]) -> bool:
    """Whether all lie in memory one number after the other, so that they can be cut in pieces."""
    return bool(y.ndim) and all(
        not np.ndim(each) or (np.shape(each) == y.shape and np.asarray(each).flags.c_contiguous)
        for each in (y, *beside)
    )


def _may_count(y: Array) -> bool:
    """Whether a few of these sums look like sums of integers."""
    few = y.reshape(-1)[:: max(1, y.size // 64)]
    return bool(np.any(few == np.rint(few)))


def _may_be_stored(x: Array) -> bool:
    """Whether a few of these numbers are float32: what was disturbed before is none."""
    few = x.reshape(-1)[:: max(1, x.size // 64)]
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.any(few.astype(np.float32) == few))


def spread_evenly(
    random: np.random.Generator, shape: tuple[int, ...], deviation: float = 1.0
) -> Array:
    """Numbers of mean 0 and this deviation, each of 16 random bits and none of them 0.

    Only the deviation of what they cause is looked at. Rounding errors are spread evenly too, and
    random bits cost more than everything that is done with them.
    """
    count = math.prod(shape)
    words = random.bit_generator.random_raw(_words(count)).view(np.int16)[:count]
    return even_steps(words.reshape(shape), deviation)


def even_steps(words: Array, deviation: float) -> Array:
    """Numbers of mean 0 and this deviation, one for each word of 16 bits."""
    numbers = words.astype(np.float32)
    numbers += np.float32(0.5)
    numbers *= _OF_EVEN_STEPS * np.float32(deviation)
    return numbers


def disturb_in_parts(
    random: np.random.Generator,
    count: int,
    disturb: Callable[[int, int, np.random.Generator], None],
) -> None:
    """Disturb so many numbers in threads: ``disturb`` gets a first and a last one, and a generator.

    Every part has the random numbers that it would have after those before it.
    """
    if thread_count() == 1:
        disturb(0, count, random)
        return
    parts = zip(range(0, count, _PART), _streams(random, count), strict=True)
    run_all([partial(disturb, at, min(at + _PART, count), own) for at, own in parts])


def _words(count: int) -> int:
    """The random words of 64 bits that so many numbers take."""
    return -(-count // _PER_WORD)


def _streams(random: np.random.Generator, count: int) -> Iterator[np.random.Generator]:
    """Yield a generator for each part of so many numbers, and leave ``random`` behind the last."""
    bits = random.bit_generator
    if count <= _PART:
        yield from [random] * min(count, 1)
        return
    assert isinstance(bits, np.random.PCG64), "the generator of a site"
    for first in range(0, count, _PART):
        own = np.random.PCG64(0)
        own.state = bits.state
        yield np.random.Generator(own)
        bits.advance(_words(min(_PART, count - first)))


def generator(seed: int, site: Any) -> np.random.Generator:  # noqa: ANN401
    """Random numbers that belong to one place of one draw."""
    mark = hashlib.blake2b(repr((seed, site)).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(np.frombuffer(mark, _WORD)))


NO_NOISE = NoNoise()


def feed_source(noise: Noise | None, tensor: Any) -> NoiseSource:  # noqa: ANN401
    """The noise with which a fed array goes onto the grid of a quantized tensor."""
    if noise is None or not noise.quantizers:
        return NO_NOISE
    source = Rounding(noise.seed, quantizers=True)
    source.enter(("fed", tensor), 0.0)
    return source

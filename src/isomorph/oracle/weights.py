"""Stored tensors in float64: read when first used, and kept between runs within one limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from isomorph.core.limits import FOLDED_CONSTANT_BYTES, LIFTED_WEIGHT_BYTES
from isomorph.core.memory import share_of_memory
from isomorph.oracle.dtypes import is_float
from isomorph.oracle.value import EvalValue

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key, as long as their sizes in bytes add up to no more than a limit.

    What was added first stays: every run uses every weight, so evicting one gains nothing.
    """

    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._kept: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value under this key, or None."""
        return self._kept.get(key)

    def fits(self, size: int) -> bool:
        """Whether a value of ``size`` bytes would be kept."""
        return size <= self._free

    def add(self, key: K, value: V, size: int) -> bool:
        """Keep a value of ``size`` bytes if it fits; whether it did."""
        if not self.fits(size):
            return False
        self._free -= size
        self._kept[key] = value
        return True

    def clear(self) -> None:
        """Release everything."""
        self._kept.clear()
        self._free = self._limit


class WeightCache(Generic[K]):
    """The stored tensors of a program as constants, by key.

    ``read`` returns one in its declared type and raises LookupError where there is none. A value
    lifts itself on first use, so keeping it keeps its float64 copy.
    """

    def __init__(self, read: Callable[[K], EvalValue], limit: int | None = None) -> None:
        self._read = read
        most = share_of_memory(LIFTED_WEIGHT_BYTES) if limit is None else limit
        self._kept: BoundedCache[Any, Any] = BoundedCache(most)
        self._passing: dict[K, EvalValue] = {}
        self._shares = False
        self.complete = True
        """Whether all that was read so far is kept."""

    def value(self, key: K) -> EvalValue:
        """The stored value as a constant."""
        kept: EvalValue | None = self._kept.get(key) or self._passing.get(key)
        if kept is not None:
            return kept
        value = self._read(key)
        data = value.data
        if isinstance(data, np.ndarray):
            # The declared array, and its float64 copy beside it.
            wide = 8 * data.size if is_float(value.dtype) else 0
            value.kept = self._kept.add(key, value, data.nbytes + wide)
            self.complete = self.complete and value.kept
            if self._shares and not value.kept:
                self._passing[key] = value
        return value

    @contextmanager
    def reads_shared(self, *, between: int) -> Iterator[None]:
        """Within, what is not kept stays until ``release_reads``, if several draws use it."""
        self._shares = between > 1
        try:
            yield
        finally:
            self._shares = False
            self._passing.clear()

    def release_reads(self) -> None:
        """Release what was read since the last call and is not kept."""
        self._passing.clear()

    def derived(self, key: K, form: Hashable, value: EvalValue, make: Callable[[], Any]) -> Any:  # noqa: ANN401
        """An array made from the stored value, kept beside it if ``value`` is the stored one."""
        stored = self._kept.get(key)
        if stored is None or stored.data is not value.data:
            return make()  # another array was fed in the place of the stored one
        known = self._kept.get((key, form))
        if known is not None:
            return known
        array = make()
        self._kept.add((key, form), array, array.nbytes)
        return array

    def clear(self) -> None:
        """Release everything."""
        self._kept.clear()


class _Indexed(Protocol):
    @property
    def index(self) -> int: ...


class FoldedConstants(Generic[K]):
    """Results that follow from stored tensors alone, computed once and kept within a limit."""

    def __init__(self, names: Iterable[K], limit: int = FOLDED_CONSTANT_BYTES) -> None:
        self.names = frozenset(names)
        self._kept: BoundedCache[int, list[EvalValue]] = BoundedCache(limit)

    def outputs(self, step: _Indexed) -> list[EvalValue] | None:
        """The kept outputs of a node, or None."""
        return self._kept.get(step.index)

    def keep(self, step: _Indexed, names: Iterable[K], outputs: list[EvalValue]) -> None:
        """Keep the outputs of a node if all of them are constant arrays and fit."""
        named = [name for name in names if name != ""]
        if not named or any(name not in self.names for name in named):
            return
        if all(isinstance(each.data, np.ndarray) for each in outputs):
            # Declared, and lifted beside it.
            size = sum(16 * each.data.size for each in outputs)
            kept = self._kept.add(step.index, outputs, size)
            for each in outputs:
                each.kept = each.kept or kept

    def clear(self) -> None:
        """Release everything."""
        self._kept.clear()

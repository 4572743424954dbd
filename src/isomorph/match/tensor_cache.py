"""Tensors by name, as many as fit into memory; the others are computed again on demand."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.store.shared_arrays import mapping_of, release_pages

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_SHARE = 4
"""Several caches exist at once, each with other tensors substituted."""

_MAPPED = 32 << 20
"""Bytes of memory-mapped files that stay resident: they are quickly read again."""

Compute = Callable[[Sequence[str]], Mapping[str, "Array"]]


class TensorCache(Mapping[str, "Array"]):
    """Values of one graph under fixed feeds, computed batch by batch.

    Reading the names in their order computes every batch once. The batch that was used least
    recently is dropped first. Tensors from a worker are memory-mapped files: only a part of them
    is resident at a time.
    """

    def __init__(
        self, batches: Sequence[Sequence[str]], compute: Compute, memory_bytes: int
    ) -> None:
        self._batches, self._compute, self._memory_bytes = (
            [tuple(each) for each in batches],
            compute,
            memory_bytes,
        )
        self._place = {name: place for place, batch in enumerate(self._batches) for name in batch}
        self._cached: OrderedDict[int, Mapping[str, Array]] = OrderedDict()
        self._mapped: dict[int, list[Array]] = {}
        """One array of each file mapping of a cached batch."""
        self._bytes = self._resident = 0

    def put(self, place: int, values: Mapping[str, Array]) -> None:
        """Store a batch that was computed elsewhere; names it lacks are no numeric tensors."""
        for name in self._batches[place]:
            if name not in values:
                self._place.pop(name, None)
        self._keep(place, values)

    def _keep(self, place: int, values: Mapping[str, Array]) -> None:
        self._cached[place] = values
        mappings = {id(mapping_of(array)): array for array in values.values()}
        self._mapped[place] = [each for each in mappings.values() if mapping_of(each) is not None]
        self._bytes += _bytes(values)
        self._used(*values.values())
        while self._bytes > self._memory_bytes and len(self._cached) > 1:
            first, gone = self._cached.popitem(last=False)
            del self._mapped[first]
            self._bytes -= _bytes(gone)

    def __getitem__(self, name: str) -> Array:
        place = self._place[name]
        if place not in self._cached:
            self._keep(place, self._compute(self._batches[place]))
        self._cached.move_to_end(place)
        self._used(self._cached[place][name])
        return self._cached[place][name]

    def _used(self, *arrays: Array) -> None:
        """Count mapped arrays that are read, and release their memory where it is too much."""
        self._resident += sum(array.nbytes for array in arrays if mapping_of(array) is not None)
        if self._resident > min(_MAPPED, self._memory_bytes // _SHARE):
            for array in (each for arrays in self._mapped.values() for each in arrays):
                release_pages(array)
            self._resident = 0

    def holds(self, name: str) -> bool:
        """Whether a tensor is cached."""
        return self._place.get(name) in self._cached

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._place))

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, name: object) -> bool:
        return name in self._place


class LayeredTensors(Mapping[str, "Array"]):
    """Several mappings as one: the first that has a name is used."""

    def __init__(self, *layers: Mapping[str, Array]) -> None:
        self.layers = layers

    def __getitem__(self, name: str) -> Array:
        for layer in self.layers:
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate from the last layer to the first: the last one has the first names."""
        return iter(dict.fromkeys(name for layer in reversed(self.layers) for name in layer))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(name in layer for layer in self.layers)


def in_memory(values: Mapping[str, Array], name: str) -> bool:
    """Whether a value is available without computing it."""
    if isinstance(values, LayeredTensors):
        layer = next((each for each in values.layers if name in each), None)
        return layer is not None and in_memory(layer, name)
    if isinstance(values, TensorCache):
        return values.holds(name)
    return name in values


def _bytes(values: Mapping[str, Array]) -> int:
    return sum(array.nbytes for array in values.values() if mapping_of(array) is None)

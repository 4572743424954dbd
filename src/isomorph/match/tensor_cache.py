"""Tensors by name, as many as there is room for; the others are computed again when asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.store.shared_arrays import let_go, mapping_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_SHARE = 4
"""Several of these live at once, each with what was put right in another place."""

_MAPPED = 32 << 20
"""What is in a file is soon in memory again: of that, no more is worth keeping there."""

Compute = Callable[[Sequence[str]], Mapping[str, "Array"]]


def batches(names: Sequence[str], sizes: Mapping[str, int], room: int) -> list[tuple[str, ...]]:
    """``names`` in their order, split where the room is used up; a large tensor is on its own."""
    found: list[list[str]] = [[]]
    used = 0
    for name in names:
        size = sizes.get(name, 0)
        if found[-1] and used + size > room:
            found.append([])
            used = 0
        found[-1].append(name)
        used += size
    return [tuple(batch) for batch in found if batch]


class TensorCache(Mapping[str, "Array"]):
    """Values of one graph under fixed feeds, batch by batch.

    Whoever walks through the names in their order computes every batch once. Batches are let go
    in the order in which they were last used. What lies in a file, as tensors from a worker do,
    stays there: of that, only as much as there is room for is in memory at a time.
    """

    def __init__(self, batches: Sequence[Sequence[str]], compute: Compute, room: int) -> None:
        self._batches, self._compute, self._room = [tuple(each) for each in batches], compute, room
        self._place = {name: place for place, batch in enumerate(self._batches) for name in batch}
        self._held: OrderedDict[int, Mapping[str, Array]] = OrderedDict()
        self._bytes = self._resident = 0

    def put(self, place: int, values: Mapping[str, Array]) -> None:
        """One whole batch, computed elsewhere; what it lacks is no tensor of numbers."""
        for name in self._batches[place]:
            if name not in values:
                self._place.pop(name, None)
        self._keep(place, values)

    def _keep(self, place: int, values: Mapping[str, Array]) -> None:
        self._held[place] = values
        self._bytes += _bytes(values)
        self._used(*values.values())
        while self._bytes > self._room and len(self._held) > 1:
            _, gone = self._held.popitem(last=False)
            self._bytes -= _bytes(gone)

    def __getitem__(self, name: str) -> Array:
        place = self._place[name]
        if place not in self._held:
            self._keep(place, self._compute(self._batches[place]))
        self._held.move_to_end(place)
        self._used(self._held[place][name])
        return self._held[place][name]

    def _used(self, *arrays: Array) -> None:
        """These are read now; where too much of the files is in memory, it goes back to them."""
        self._resident += sum(array.nbytes for array in arrays if mapping_of(array) is not None)
        if self._resident > min(_MAPPED, self._room // _SHARE):
            held = (array for values in self._held.values() for array in values.values())
            for array in {id(mapping_of(each)): each for each in held}.values():
                let_go(array)
            self._resident = 0

    def holds(self, name: str) -> bool:
        """Whether it need not be computed again."""
        return self._place.get(name) in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._place))

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, name: object) -> bool:
        return name in self._place


class Layered(Mapping[str, "Array"]):
    """Several mappings as one: the first that has a name answers."""

    def __init__(self, *layers: Mapping[str, Array]) -> None:
        self.layers = layers

    def __getitem__(self, name: str) -> Array:
        for layer in self.layers:
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        """The undermost layer first: its names are the first of the graph."""
        return iter(dict.fromkeys(name for layer in reversed(self.layers) for name in layer))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(name in layer for layer in self.layers)


def held(values: Mapping[str, Array], name: str) -> bool:
    """Whether a value can be had without computing it."""
    if isinstance(values, Layered):
        layer = next((each for each in values.layers if name in each), None)
        return layer is not None and held(layer, name)
    if isinstance(values, TensorCache):
        return values.holds(name)
    return name in values


def _bytes(values: Mapping[str, Array]) -> int:
    return sum(array.nbytes for array in values.values() if mapping_of(array) is None)

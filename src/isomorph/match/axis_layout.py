"""Arrangements of the same axes: permuted, squeezed, or both. Works on shapes, not values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

from isomorph.core.limits import AXES

if TYPE_CHECKING:
    from isomorph.core.model import Dimension
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Rearrangement:
    """How the axes of one tensor become another's: a permutation, then a reshape."""

    permutation: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def moves(self) -> bool:
        """Whether any axis changes its place among the others."""
        return list(self.permutation) != sorted(self.permutation)

    @property
    def text(self) -> str:
        """The rearrangement as text for a report."""
        if self.moves:
            return f"axes permuted by {self.permutation}"
        return f"axes of size one added or removed (now {'×'.join(map(str, self.shape))})"

    def array(self, array: Array) -> Array:
        """Return ``array`` rearranged."""
        return array.transpose(self.permutation).reshape(self.shape)


def arrangements(shape: Sequence[int], target: Sequence[Dimension]) -> tuple[Rearrangement, ...]:
    """Return every rearrangement of ``shape`` into ``target``; dynamic axes fit any size.

    Axes of size one are not permuted among themselves.
    """
    if len(shape) > AXES.most or len(target) > AXES.most:
        AXES.reached()
        return ()
    if len(shape) == len(target):
        return _permuted(tuple(shape), tuple(target))
    others = [axis for axis, size in enumerate(shape) if size != 1]
    units = [axis for axis, size in enumerate(shape) if size == 1]
    found = []
    for order in permutations(others):
        filled = _filled([shape[axis] for axis in order], target)
        if filled is not None:
            found.append(Rearrangement(permutation=(*units, *order), shape=filled))
    return tuple(found)


@lru_cache(maxsize=256)
def _permuted(shape: tuple[int, ...], target: tuple[Dimension, ...]) -> tuple[Rearrangement, ...]:
    found: dict[tuple[int, ...], Rearrangement] = {}
    tried = [
        Rearrangement(permutation=order, shape=tuple(shape[axis] for axis in order))
        for order in permutations(range(len(shape)))
        if all(
            not isinstance(size, int) or size == shape[axis]
            for size, axis in zip(target, order, strict=True)
        )
    ]
    for each in sorted(
        tried, key=lambda way: (moves_channels(way), keeps_order(way)), reverse=True
    ):
        visible = tuple(axis for axis in each.permutation if shape[axis] != 1)
        found.setdefault(visible, each)
    return tuple(found.values())


def keeps_order(rearrangement: Rearrangement) -> bool:
    """Whether at most one axis changes its position, as the channel axis does between layouts."""
    order = rearrangement.permutation
    for axis in order:
        others = [other for other in order if other != axis]
        if others == sorted(others):
            return True
    return False


def moves_channels(rearrangement: Rearrangement) -> bool:
    """Whether one axis moved to the end, or the last one away from it, past two or more others.

    This is the difference between channels-first and channels-last; a matrix has no channels.
    """
    order = rearrangement.permutation
    last = len(order) - 1
    if last < 2 or len(rearrangement.shape) != len(order) or order[-1] == last:
        return False
    to_the_end = list(order[:-1]) == sorted(order[:-1])
    others = [axis for axis in order if axis != last]
    return to_the_end or others == sorted(others)


def channel_moves(shape: Sequence[int], target: Sequence[int]) -> tuple[Rearrangement, ...]:
    """Return every rearrangement into ``target`` that moves one axis to the end or back."""
    if len(shape) != len(target):
        return ()
    axes = range(len(shape))
    last = len(shape) - 1
    orders = [
        order
        for axis in axes[:-1]
        for order in (
            (*(other for other in axes if other != axis), axis),
            (*axes[:axis], last, *axes[axis:last]),
        )
    ]
    found: dict[tuple[int, ...], Rearrangement] = {}
    for order in orders:
        way = Rearrangement(permutation=order, shape=tuple(shape[axis] for axis in order))
        if way.shape == tuple(target) and moves_channels(way):
            visible = tuple(axis for axis in order if shape[axis] != 1)
            found.setdefault(visible, way)
    return tuple(found.values())


def stated_arrangement(
    axes: Sequence[int], shape: Sequence[int], target: Sequence[int]
) -> Rearrangement | None:
    """Return the rearrangement into ``target`` that maps each axis of ``shape`` to ``axes``.

    None where the sizes differ. Axes of ``target`` that are not in ``axes`` must have size one.
    """
    named = set(axes)
    fits = (
        len(axes) == len(shape) == len(named)
        and all(0 <= axis < len(target) for axis in axes)
        and all(target[axis] == size for axis, size in zip(axes, shape, strict=True))
        and all(size == 1 for axis, size in enumerate(target) if axis not in named)
    )
    if not fits:
        return None
    order = tuple(sorted(range(len(axes)), key=lambda place: axes[place]))
    return Rearrangement(permutation=order, shape=tuple(target))


def _filled(sizes: Sequence[int], target: Sequence[Dimension]) -> tuple[int, ...] | None:
    """Fill the dynamic axes of ``target`` from ``sizes`` in order; None if they do not fit."""
    filled: list[int] = []
    left = list(sizes)
    fixed = sum(1 for size in target if isinstance(size, int) and size != 1)
    free = len(left) - fixed
    for size in target:
        if isinstance(size, int):
            if size != 1 and (not left or left.pop(0) != size):
                return None
            filled.append(size)
        elif free > 0 and left:
            filled.append(left.pop(0))
            free -= 1
        else:
            filled.append(1)
    return tuple(filled) if not left else None

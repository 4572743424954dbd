"""A weight that differs from its counterpart: in which numbers, and what they should be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.match.element_bounds import Elements, grid_steps, relative_size
from isomorph.match.rounded_weights import narrowed
from isomorph.match.stored_weights import StoredWeight
from isomorph.match.structural_constants import Isolation

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.blocked_differences import BlockedDifference
    from isomorph.match.merged_weights import MergedWeight
    from isomorph.match.moved_floats import MovedFloats
    from isomorph.match.rounding_grids import OtherGrid
    from isomorph.match.small_constants import ChangedConstant
    from isomorph.match.structural_constants import PlacedConstant
    from isomorph.match.tables import TableDifference

_MOST_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantDifference:
    """A weight of the candidate that is wrong in some of its elements.

    ``expected`` are the right real values in the weight's own arrangement; ``shown`` are the first
    wrong positions with the right and the wrong value. Where the counterpart is not ``certain``,
    the difference counts only if an input shows it.
    """

    weight: StoredWeight
    reference: tuple[str, ...]
    evidence: tuple[str, ...]
    beyond: Array = field(repr=False)
    expected: Array = field(repr=False)
    relative: float
    shown: tuple[tuple[tuple[int, ...], float, float], ...]
    certain: bool = True
    inside: bool = False
    """Whether it is in a body, where its value cannot be replaced."""
    shared: bool = False
    """Whether other nodes read the same constant, and need the numbers that it has."""
    alone: bool = False
    """Whether all other constants of both graphs are equal."""
    sole: bool = False
    """Whether it is a weight, and each side holds no other one without an equal."""
    isolation: Isolation = Isolation.UNKNOWN
    """What else differs, where it is identified by its position in graphs of the same structure."""
    missing_rows: int = 0
    """How many rows of a table are missing at its end."""
    origin: Array | None = field(default=None, repr=False)
    """All real values of the counterpart, where the weight was rounded from them."""
    grid: OtherGrid | MovedFloats | None = None
    """The grid of the integers, where it is not the stated one, or how all numbers are off."""
    store: Callable[[Array], Array] | None = field(default=None, repr=False)
    """Packs real values as they are stored, where integers are packed in blocks."""

    @property
    def replaceable(self) -> bool:
        """Whether its value can be replaced for an experiment."""
        return not self.inside and not self.shared

    @property
    def count(self) -> int:
        """How many elements are wrong."""
        return int(np.count_nonzero(self.beyond))

    @property
    def text(self) -> str:
        """How many elements are wrong and how far off they are, as text for a report."""
        if self.missing_rows:
            return message("difference.rows", count=self.missing_rows)
        if not self.shown:
            return message("difference.unlisted")
        count, size = self.count, self.beyond.size
        if math.isinf(self.relative):
            return message("difference.not_zero", count=count, size=size)
        percent = 100.0 * self.relative
        text = message("difference.elements", count=count, size=size, percent=percent)
        if self.grid is None:
            return text
        return message("difference.on_grid", text=text, grid=self.grid.text)

    def corrected(self, integers: Array | None) -> Array:
        """Return the right value of the constant as it is stored: quantized where it is so."""
        if self.store is not None:
            return self.store(self.expected)
        if self.weight.grid is None or integers is None:
            return narrowed(self.expected, self.weight.dtype)
        grid, shape = self.weight.grid, self.expected.shape
        zeros = np.asarray(grid.zero_point, np.float64)
        if zeros.size > 1 and grid.axis is not None:
            axis = grid.axis % len(shape)
            zeros = zeros.reshape([-1 if each == axis else 1 for each in range(len(shape))])
        whole = np.rint(self.expected / grid_steps(grid, shape)) + (zeros if zeros.size else 0)
        limits = np.iinfo(integers.dtype)
        return np.clip(whole, limits.min, limits.max).astype(integers.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightComparison:
    """The weights of the candidate that differ, and what the narrower ones were rounded from."""

    differences: tuple[ConstantDifference, ...]
    unrounded: Mapping[str, Array] = field(default_factory=dict, repr=False)
    """The reference's numbers of narrow float weights, as the candidate arranges them."""
    explained: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """The candidate's weights that hold what they should, with the reference's they follow from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """The most likely origin of a weight of the candidate, and their comparison."""

    names: tuple[str, ...]
    expected: Array = field(repr=False)
    elements: Elements
    evidence: tuple[str, ...]
    grid: OtherGrid | MovedFloats | None = None

    @classmethod
    def in_place_of(
        cls,
        found: ChangedConstant
        | PlacedConstant
        | BlockedDifference
        | TableDifference
        | MergedWeight,
    ) -> Suspect:
        """Create a suspect that is identified by its use or its position."""
        return cls(
            names=(found.source.name,),
            expected=found.expected,
            elements=found.elements,
            evidence=("structure",),
        )


def difference_from(weight: StoredWeight, actual: Array, suspect: Suspect) -> ConstantDifference:
    """Return the difference of a weight from its most likely origin."""
    beyond = suspect.elements.beyond
    places = np.argwhere(beyond & (suspect.expected != actual))[:_MOST_SHOWN]
    shown = tuple(
        (tuple(map(int, place)), float(suspect.expected[tuple(place)]), float(actual[tuple(place)]))
        for place in places
    )
    return ConstantDifference(
        weight=weight,
        reference=suspect.names,
        evidence=suspect.evidence,
        beyond=beyond,
        # A wrong scale moves every number of its channel, some by less than two roundings.
        expected=np.where(beyond | suspect.elements.between, suspect.expected, actual),
        relative=relative_size(suspect.expected, actual, beyond),
        shown=shown,
        origin=suspect.expected,
        grid=suspect.grid,
    )

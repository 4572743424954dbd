"""Weights that are off as a whole: by their scale, by their zero point or by whole units."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.stated_numbers import FEW_ELEMENTS
from isomorph.match.arranged_weights import (
    same_sign_arrangements,
    same_use,
    shifted_arrangements,
)
from isomorph.match.constant_difference import Suspect
from isomorph.match.element_bounds import Elements, Source
from isomorph.match.moved_floats import moved_floats
from isomorph.match.rounded_weights import is_narrow
from isomorph.match.rounding_grids import OtherGrid, other_grid
from isomorph.match.stored_weights import SUMS, StoredWeight

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.match.folded_weights import Folded, ScaledKernel
    from isomorph.match.moved_floats import MovedFloats
    from isomorph.match.stored_weights import Weights

Origin = tuple["StoredWeight | Folded | None", tuple[str, ...], "Array | ScaledKernel", Source]
"""Where a weight may come from, the names of it, its numbers, and how exact they are."""


def misrounded(
    weight: StoredWeight, names: tuple[str, ...], expected: Array, stored: Array, source: Source
) -> Suspect | None:
    """Return a weight that is off as a whole: ``stored`` are its integers or its narrow floats.

    Its integers are those of another grid than the stated one, or all its numbers are off alike.
    """
    grid: OtherGrid | MovedFloats | None
    if weight.grid is not None:
        grid = other_grid(weight.grid, expected, stored, source)
    else:
        grid = moved_floats(expected, stored, weight.dtype, source)
    if grid is None:
        return None
    elements = Elements(
        beyond=grid.beyond,
        between=grid.moved & ~grid.beyond,
        informative=expected.size - int(np.count_nonzero(grid.beyond)),
    )
    return Suspect(
        names=names, expected=expected, elements=elements, evidence=("value",), grid=grid
    )


def many_units_off(weight: StoredWeight, elements: Elements) -> bool:
    """Whether many numbers of a narrow weight are off by whole units, and the others are right."""
    narrow = weight.grid is not None or is_narrow(weight.dtype)
    return narrow and weight.size > FEW_ELEMENTS and elements.distinct


def rescaled(
    weight: StoredWeight, actual: Array, stored: Array, origins: Iterable[Origin]
) -> Iterator[Suspect]:
    """Yield the first origin from which a weight is off as a whole."""
    if weight.grid is None and not is_narrow(weight.dtype):
        return
    for source, names, value, terms in origins:
        if isinstance(source, StoredWeight) and not same_use(weight, source):
            continue
        for expected, source_terms in chain(
            same_sign_arrangements(value, actual, terms),
            shifted_arrangements(value, actual, weight, terms),
        ):
            found = misrounded(weight, names, expected, stored, source_terms)
            if found is not None:
                yield found
                return


def compared_together(
    found: Sequence[ConstantDifference], candidate: Weights, explained: Collection[str]
) -> list[ConstantDifference]:
    """Leave out biases with the scale of a rescaled weight, and mark what may be compensated for.

    A converter may move a factor from one weight to another. Then both differ, in opposite
    directions. Where every other weight is explained, or rescaled in the same direction, none does,
    and a rescaled weight is certain. So is one whose zero point is off: what that adds depends on
    the data, and no other weight takes it away.
    """
    sizes = {each.weight.name: each.grid.too_large for each in found if each.grid is not None}
    unexplained = set(candidate.stored) - set(explained) - set(sizes)
    certain = not unexplained and len(set(sizes.values()) - {None}) < 2
    kernels = {
        reader.node.name
        for each in found
        if each.grid is not None and each.weight.dtype not in SUMS
        for reader in each.weight.readers
    }
    return [
        replace(each, certain=certain or _shifted(each)) if each.weight.name in sizes else each
        for each in found
        if each.grid is None or each.weight.dtype not in SUMS or not _read_by(each, kernels)
    ]


def _shifted(found: ConstantDifference) -> bool:
    """Whether the zero point of a weight, and not of a sum, is off."""
    shifted = isinstance(found.grid, OtherGrid) and found.grid.shift != 0
    return shifted and found.weight.dtype not in SUMS


def _read_by(found: ConstantDifference, nodes: Collection[str]) -> bool:
    return any(each.node.name in nodes for each in found.weight.readers)

"""Weights whose integers were rounded with another scale or zero point than the stated one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.match.arranged_weights import same_sign_arrangements, same_use
from isomorph.match.constant_difference import Suspect
from isomorph.match.element_bounds import Elements, Source
from isomorph.match.rounding_grids import other_grid
from isomorph.match.stored_weights import SUMS, StoredWeight

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.match.folded_weights import Folded, ScaledKernel
    from isomorph.match.stored_weights import Weights

Origin = tuple["StoredWeight | Folded | None", tuple[str, ...], "Array | ScaledKernel", Source]
"""Where a weight may come from, the names of it, its numbers, and how exact they are."""


def misrounded(
    weight: StoredWeight, names: tuple[str, ...], expected: Array, integers: Array, source: Source
) -> Suspect | None:
    """Return a weight whose integers are those of another grid than the stated one."""
    grid = None if weight.grid is None else other_grid(weight.grid, expected, integers, source)
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


def rescaled(
    weight: StoredWeight, actual: Array, integers: Array, origins: Iterable[Origin]
) -> Iterator[Suspect]:
    """Yield the first origin from which all integers were rounded, but with other scales."""
    for source, names, value, terms in origins:
        if isinstance(source, StoredWeight) and not same_use(weight, source):
            continue
        for expected, source_terms in same_sign_arrangements(value, actual, terms):
            found = misrounded(weight, names, expected, integers, source_terms)
            if found is not None:
                yield found
                return


def compared_together(
    found: Sequence[ConstantDifference], candidate: Weights, explained: Collection[str]
) -> list[ConstantDifference]:
    """Leave out biases with the scale of a rescaled weight, and mark what may be compensated for.

    A converter may move a factor from one weight to another. Then both differ, in opposite
    directions. Where every other weight is explained, or rescaled in the same direction, none does,
    and a rescaled weight is certain.
    """
    factors = {each.weight.name: each.grid.factor for each in found if each.grid is not None}
    unexplained = set(candidate.stored) - set(explained) - set(factors)
    one_direction = len({factor > 1.0 for factor in factors.values() if factor != 1.0}) < 2
    certain = one_direction and not unexplained
    kernels = {
        reader.node.name
        for each in found
        if each.grid is not None and each.weight.dtype not in SUMS
        for reader in each.weight.readers
    }
    return [
        replace(each, certain=certain) if each.weight.name in factors else each
        for each in found
        if each.grid is None or each.weight.dtype not in SUMS or not _read_by(each, kernels)
    ]


def _read_by(found: ConstantDifference, nodes: Collection[str]) -> bool:
    return any(each.node.name in nodes for each in found.weight.readers)

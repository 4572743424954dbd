"""Constants that a conversion computed from several: a batch normalization folded away.

Recognized by being computed again in float64: a folded constant may differ by four roundings for
each operation, of the size that its terms have before they cancel.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Confidence, Pair
from isomorph.match.value_match import ways
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.constants import Constants

_ROUNDINGS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a constant would be if these were folded into it: its value, and how far off it is."""

    names: tuple[str, ...]
    value: Array
    reach: Array
    words: str


def fold(constants: Constants) -> None:
    """Settle what is still open and is a batch normalization of the other side, folded."""
    buckets = tuple(_buckets(constants, side) for side in (0, 1))
    for side, graph in enumerate((constants.reference, constants.candidate)):
        for node in graph.nodes:
            if node.op == "BatchNormalization" and len(node.inputs) >= 5:
                place = constants.place(side, node.inputs[1])
                whole, folded = (buckets[each].get(place, []) for each in (side, 1 - side))
                _fold(constants, side, node, whole, folded)


def _buckets(constants: Constants, side: int) -> dict[Hashable, list[str]]:
    """The unsettled constants of a side by the place at which they are read."""
    found: dict[Hashable, list[str]] = {}
    for name in (constants.left, constants.open)[side]:
        place = constants.place(side, name)
        if place is not None:
            found.setdefault(place, []).append(name)
    return found


def _fold(
    constants: Constants, side: int, norm: Node, whole: Sequence[str], folded: Sequence[str]
) -> None:
    parts = norm.inputs[1:5]
    if not set(parts) <= set(whole):
        return
    recipes = list(_recipes(constants, side, norm, [name for name in whole if name not in parts]))
    for name in folded:
        value = constants.values(1 - side, name)
        recipe = None if value is None else next((r for r in recipes if _is(r, value)), None)
        if recipe is None:
            continue
        ref, cand = (recipe.names, (name,)) if side == 0 else ((name,), recipe.names)
        for each in cand:
            constants.found(
                Pair(
                    kind="constant",
                    reference=ref,
                    candidate=each,
                    transform=recipe.words if side == 0 else f"unfolded: {recipe.words}",
                    evidence=("value", "structure"),
                    confidence=Confidence.CERTAIN,
                )
            )


def _recipes(
    constants: Constants, side: int, norm: Node, others: Sequence[str]
) -> Iterator[Recipe]:
    values = [constants.values(side, name) for name in norm.inputs[1:5]]
    if any(value is None for value in values):
        return
    scale, offset, mean, variance = (np.asarray(value) for value in values)
    graph = (constants.reference, constants.candidate)[side]
    unit = _ROUNDINGS * unit_roundoff(graph.constants[norm.inputs[1]].dtype)
    epsilon = float(norm.attributes.get("epsilon", norm.attributes.get("eps", 0.0)))
    factor = scale / np.sqrt(variance + epsilon)
    used, all_four = (norm.inputs[1], norm.inputs[4]), norm.inputs[1:5]
    told = "folded with a batch normalization"
    yield Recipe(names=used, value=factor, reach=3 * unit * np.abs(factor), words="its factor")
    zero = np.zeros_like(factor)
    for name, bias in [("", zero), *((n, constants.values(side, n)) for n in others)]:
        if bias is None or bias.size != factor.size or (bias.ndim > 1 and name):
            continue
        size = (np.abs(bias) + np.abs(mean)) * np.abs(factor) + np.abs(offset)
        yield Recipe(
            names=(*((name,) if name else ()), *all_four),
            value=(bias.reshape(factor.shape) - mean) * factor + offset,
            reach=6 * unit * size.reshape(factor.shape),
            words=told if name else "its offset",
        )
    for name in others:
        kernel = constants.values(side, name)
        for axis in range(kernel.ndim) if kernel is not None and kernel.ndim > 1 else ():
            if kernel is not None and kernel.shape[axis] == factor.size:
                along = factor.reshape([-1 if a == axis else 1 for a in range(kernel.ndim)])
                value = kernel * along
                yield Recipe(
                    names=(name, *used), value=value, reach=4 * unit * np.abs(value), words=told
                )


def _is(recipe: Recipe, value: Array) -> bool:
    """Whether these are the recipe's numbers, in some arrangement."""
    if recipe.value.size != value.size:
        return False
    return any(
        bool(np.all(np.abs(moved.array(recipe.value) - value) <= moved.array(recipe.reach)))
        for moved in ways(recipe.value, value.shape)
    )

"""Match constants into which a conversion folded a batch normalization.

The folded constant is computed again in float64. It may differ by four roundings for each
operation, relative to the size of the terms before they cancel.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Confidence, Pair
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.match.value_match import rearrangements
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.match.constants import Constants


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedConstant:
    """The value of a constant if these constants were folded into it, and its error bound."""

    names: tuple[str, ...]
    value: Array
    error_bound: Array
    text: str


def match_folded(constants: Constants) -> None:
    """Pair unmatched constants that contain a folded batch normalization of the other graph."""
    buckets = tuple(_buckets(constants, side) for side in (0, 1))
    for side, graph in enumerate((constants.reference, constants.candidate)):
        for node in graph.nodes:
            if node.op == "BatchNormalization" and len(node.inputs) >= 5:
                place = constants.place(side, node.inputs[1])
                whole, folded = (buckets[each].get(place, []) for each in (side, 1 - side))
                _fold(constants, side, node, whole, folded)


def _buckets(constants: Constants, side: int) -> dict[Hashable, list[str]]:
    """Return the unmatched constants of a side by the place at which they are read."""
    found: dict[Hashable, list[str]] = {}
    for name in (constants.unmatched_reference, constants.unmatched_candidate)[side]:
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
            constants.add_pair(
                Pair(
                    kind="constant",
                    reference=ref,
                    candidate=each,
                    transform=recipe.text if side == 0 else f"unfolded: {recipe.text}",
                    evidence=("value", "structure"),
                    confidence=Confidence.CERTAIN,
                )
            )


def _recipes(
    constants: Constants, side: int, norm: Node, others: Sequence[str]
) -> Iterator[FoldedConstant]:
    values = [constants.values(side, name) for name in norm.inputs[1:5]]
    if any(value is None for value in values):
        return
    scale, offset, mean, variance = (np.asarray(value) for value in values)
    graph = (constants.reference, constants.candidate)[side]
    unit = OPERATION_ROUNDINGS * unit_roundoff(graph.constants[norm.inputs[1]].dtype)
    epsilon = float(norm.attributes.get("epsilon", norm.attributes.get("eps", 0.0)))
    factor = scale / np.sqrt(variance + epsilon)
    used, all_four = (norm.inputs[1], norm.inputs[4]), norm.inputs[1:5]
    folded_text = "folded with a batch normalization"
    yield FoldedConstant(
        names=used, value=factor, error_bound=3 * unit * np.abs(factor), text="its factor"
    )
    zero = np.zeros_like(factor)
    for name, bias in [("", zero), *((n, constants.values(side, n)) for n in others)]:
        if bias is None or bias.size != factor.size or (bias.ndim > 1 and name):
            continue
        size = (np.abs(bias) + np.abs(mean)) * np.abs(factor) + np.abs(offset)
        yield FoldedConstant(
            names=(*((name,) if name else ()), *all_four),
            value=(bias.reshape(factor.shape) - mean) * factor + offset,
            error_bound=6 * unit * size.reshape(factor.shape),
            text=folded_text if name else "its offset",
        )
    for name in others:
        kernel = constants.values(side, name)
        for axis in range(kernel.ndim) if kernel is not None and kernel.ndim > 1 else ():
            if kernel is not None and kernel.shape[axis] == factor.size:
                along = factor.reshape([-1 if a == axis else 1 for a in range(kernel.ndim)])
                value = kernel * along
                yield FoldedConstant(
                    names=(name, *used),
                    value=value,
                    error_bound=4 * unit * np.abs(value),
                    text=folded_text,
                )


def _is(recipe: FoldedConstant, value: Array) -> bool:
    """Whether ``value`` is the folded constant in some arrangement of its axes."""
    if recipe.value.size != value.size:
        return False
    return any(
        bool(np.all(np.abs(moved.array(recipe.value) - value) <= moved.array(recipe.error_bound)))
        for moved in rearrangements(recipe.value, value.shape)
    )

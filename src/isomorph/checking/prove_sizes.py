"""Whether what is proven for the sizes of one sample holds for every size of its dynamic axes.

The pair is proven again with a symbol in the place of the size (``proof.sizes``): first for all
dynamic axes together, then for each of them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.proof import AxisPlace, AxisProof, OpenReason, Proof, Reason, Standing
from isomorph.inputs.generate import axis_name
from isomorph.proof.sizes import Symbol, UndecidedSizeError, is_size, symbolic
from isomorph.proof.term import NoMeaningError

if TYPE_CHECKING:
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.trace import Arrays
    from isomorph.match.axis_layout import Rearrangement
    from isomorph.measure.input_layout import Layout

Attempts = Callable[[Mapping[tuple[str, int], int]], Iterator[Proof]]
"""Proofs of the pair with these sizes at axes of the reference's inputs."""
_FIRST_AXES = ""
"""The group of the first axes of all inputs that have no name: they are taken for one batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicAxis:
    """Axes of the reference's inputs that have one size, and why it cannot be any size."""

    name: str
    places: tuple[tuple[str, int], ...]
    size: int
    fixed: str = ""


def arranged_shape(shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """``target``, which differs by axes of size 1 alone where a size of ``shape`` is a symbol."""
    if not any(map(is_size, shape)):
        return tuple(target)
    rest = iter([size for size in shape if is_size(size) or size != 1])
    found = tuple(1 if size == 1 else next(rest, 0) for size in target)
    for size, known in zip(found, target, strict=True):
        if not is_size(size) and size != known:
            raise UndecidedSizeError("an input in another arrangement of axes")
    return found


def dynamic_axes(
    pair: PreparedPair, feeds: Arrays, layouts: Sequence[Layout]
) -> tuple[DynamicAxis, ...]:
    """The dynamic axes of the reference's inputs; those that one side calls equal are one."""
    there = {spec.name: spec for spec in pair.candidate.model.graph.inputs}
    bound = {each.reference: there.get(each.candidate) for each in pair.inputs}
    orders = {each.input: each.rearrangement for each in layouts}
    groups: dict[str, list[tuple[str, int]]] = {}
    fixed: dict[str, str] = {}
    joined: dict[str, str] = {}
    for spec in pair.reference.model.graph.inputs:
        shape = np.shape(np.asarray(feeds[spec.name])) if spec.name in feeds else ()
        other = bound.get(spec.name)
        for axis, size in enumerate(spec.shape or ()):
            if isinstance(size, int) or len(shape) != len(spec.shape or ()):
                continue
            name = axis_name(spec.name, axis, size)
            groups.setdefault(name, []).append((spec.name, axis))
            if other is None:
                continue
            place = _place(axis, shape, orders.get(other.name))
            if place is not None and other.shape is not None and place >= len(other.shape):
                place = None
            dimension = None if other.shape is None or place is None else other.shape[place]
            if isinstance(dimension, int) or place is None:
                key = "PROVE.rearranged_axes" if place is None else "PROVE.fixed_axis"
                fixed[name] = message(key, input=other.name, axis=place)
            elif isinstance(dimension, str):
                joined[name] = joined.get(name, dimension)
    return tuple(_merged(groups, fixed, joined, feeds))


def _place(axis: int, shape: Sequence[int], order: Rearrangement | None) -> int | None:
    """The axis of the candidate's input that an axis of the reference's is; None if unknown."""
    if order is None:
        return axis
    moved = [shape[each] for each in order.permutation]
    return order.permutation.index(axis) if list(order.shape) == moved else None


def _merged(
    groups: Mapping[str, list[tuple[str, int]]],
    fixed: Mapping[str, str],
    joined: Mapping[str, str],
    feeds: Arrays,
) -> Iterable[DynamicAxis]:
    """One axis for each size: names that the candidate gives one name, and unnamed batches."""
    owners: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for name, places in groups.items():
        unnamed = name == f"{places[0][0]}.{places[0][1]}" and places[0][1] == 0
        key = joined.get(name, _FIRST_AXES if unnamed else f"={name}")
        owner = owners.setdefault(key, name)
        found.setdefault(owner, []).append(name)
    for owner, names in found.items():
        all_places = tuple(place for name in names for place in groups[name])
        sizes = {int(np.shape(np.asarray(feeds[name]))[axis]) for name, axis in all_places}
        why = next((fixed[name] for name in names if name in fixed), "")
        if len(sizes) > 1:
            why = message("PROVE.unequal_axes")
        yield DynamicAxis(name=owner, places=all_places, size=min(sizes), fixed=why)


def with_sizes(proof: Proof, axes: Sequence[DynamicAxis], attempts: Attempts) -> Proof:
    """A proof with what holds for every size of each dynamic axis."""
    free = [each for each in axes if not each.fixed]
    proven = [each for each in proof.outputs if each.standing is Standing.PROVEN]
    if not axes or not proven:
        return replace(proof, axes=tuple(_described(each, proof) for each in axes))
    results: dict[str, AxisProof] = {}
    chance = proof.chance
    for chosen in [free] + ([[each] for each in free] if len(free) > 1 else []):
        left = [each for each in chosen if not _settled(results.get(each.name))]
        if not left:
            continue
        found, spent = _for_every_size(proof, chosen, attempts)
        chance += spent
        for each in left:
            alone = len(chosen) < len(free)
            results[each.name] = replace(found[each.name], alone=alone and len(free) > 1)
    listed = [results.get(each.name) or _described(each, proof) for each in axes]
    return replace(proof, axes=tuple(listed), chance=chance)


def _settled(found: AxisProof | None) -> bool:
    return found is not None and found.every_size


def _for_every_size(
    proof: Proof, axes: Sequence[DynamicAxis], attempts: Attempts
) -> tuple[dict[str, AxisProof], float]:
    """What one proof with symbols for these axes says of each, and its chance of error."""
    why: OpenReason | None = None
    symbols = {each.name: Symbol(each.name, each.size) for each in axes}
    sizes = {place: symbolic(symbols[each.name]) for each in axes for place in each.places}
    for tried in _made(attempts(sizes)) if axes else ():
        if isinstance(tried, OpenReason):
            why = why or tried
            break
        again = {(each.reference, each.candidate): each for each in tried.outputs}
        missing = [
            again[each.reference, each.candidate]
            for each in proof.outputs
            if each.standing is Standing.PROVEN
            and again[each.reference, each.candidate].standing is not Standing.PROVEN
        ]
        if not missing and _assumes_no_more(tried, proof):
            return {
                each.name: replace(
                    _described(each, proof), every_size=True, least=symbols[each.name].least,
                    open=None,
                )
                for each in axes
            }, tried.chance  # fmt: skip
        why = why or next((each.open for each in missing), None)
    return {each.name: replace(_described(each, proof), open=why) for each in axes}, 0.0


def _assumes_no_more(tried: Proof, proof: Proof) -> bool:
    """Whether a proof for every size rests on nothing that the measured one does not rest on."""
    more, known = tried.assumptions, proof.assumptions
    return more.largest_rounding <= known.largest_rounding and more.vanishing <= known.vanishing


def _made(attempts: Iterator[Proof]) -> Iterator[Proof | OpenReason]:
    """Every attempt; the reason where one ends because it needs a size as a number."""
    try:
        yield from attempts
    except NoMeaningError as refused:
        yield OpenReason(reason=Reason.NO_MEANING, details=refused.why)


def _described(axis: DynamicAxis, proof: Proof) -> AxisProof:
    reason = OpenReason(reason=Reason.INTERFACE, details=axis.fixed) if axis.fixed else None
    if reason is None and not any(each.standing is Standing.PROVEN for each in proof.outputs):
        reason = next((each.open for each in proof.outputs if each.open is not None), None)
    return AxisProof(
        name=axis.name,
        places=tuple(AxisPlace(input=name, axis=place) for name, place in axis.places),
        size=axis.size,
        open=reason,
    )

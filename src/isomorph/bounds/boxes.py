"""Bounds over the parts of a box, which are narrower than those over the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.interval import Interval
from isomorph.bounds.walk import TensorBounds
from isomorph.core.ranges import OpenReason
from isomorph.core.search_limits import SPLIT_BOXES, SPLIT_ELEMENTS, SPLIT_NODES
from isomorph.inputs.input_space import ValueKind

if TYPE_CHECKING:
    from isomorph.bounds.walk import GraphWalk
    from isomorph.inputs.input_space import InputSpace

Box = Mapping[str, Interval]
Found = Mapping[str, TensorBounds]


def bounds_by_parts(
    walk: GraphWalk, box: Box, limits: Mapping[str, float], space: InputSpace
) -> tuple[dict[str, TensorBounds], int]:
    """The bounds of every tensor, and of how many parts they were made.

    The part with the widest bounds is halved as long as a tensor is open by its bound alone.
    """
    parts: list[tuple[Box, Found]] = [(box, walk.bounds(box))]
    # Rows of a table lie in no order, and a mask has two values.
    cut = {each.name: each.whole for each in space.variables
           if each.kind in {ValueKind.REAL, ValueKind.INTEGER}}  # fmt: skip
    most = min(SPLIT_BOXES.most, SPLIT_NODES // max(1, len(walk.graph.nodes)))
    while 0 < space.elements <= SPLIT_ELEMENTS:
        place = max(range(len(parts)), key=lambda at: _excess(parts[at][1], limits))
        worst, found = parts[place]
        if _excess(found, limits) <= 0.0:
            break
        halves = _halves(worst, cut)
        if halves is not None and len(parts) >= most:
            SPLIT_BOXES.reached()
            break
        if halves is None:
            break
        del parts[place]
        parts += [(half, walk.bounds(half)) for half in halves]
    exact = _joined([found for _, found in parts])
    # Where everything fits, a run holds no infinity, and its bounds are the same.
    in_run = _joined(
        [
            found
            if _all_fit(found, limits) and not walk.overflows_in_constants
            else walk.bounds(part, overflowing=True)
            for part, found in parts
        ]
    )
    return {
        name: _in_both(each, in_run[name], limits[name])
        if name in limits and _proven(each, limits[name])
        else each
        for name, each in exact.items()
    }, len(parts)


def _in_both(exact: TensorBounds, in_run: TensorBounds, limit: float) -> TensorBounds:
    """The bounds of a tensor whose numbers fit its type, if all before it do, and of a run."""
    if not _proven(in_run, limit):
        return replace(exact, reason=OpenReason.BEHIND_OVERFLOW)
    # One over an infinity is zero: it fits, and no number that is stored gives it.
    lower, upper = min(exact.lower, in_run.lower), max(exact.upper, in_run.upper)
    return replace(exact, lower=lower, upper=upper)


def _all_fit(found: Found, limits: Mapping[str, float]) -> bool:
    return all(_proven(found[name], limit) for name, limit in limits.items())


def _proven(bounds: TensorBounds, limit: float) -> bool:
    return bounds.reason is None and bounds.within(limit)


def _excess(found: Found, limits: Mapping[str, float]) -> float:
    """How far the widest bound is beyond its limit, by orders of magnitude; 0 where none is."""
    worst = 0.0
    for name, limit in limits.items():
        reach = max(abs(found[name].lower), abs(found[name].upper))
        if reach > limit:
            worst = max(worst, float(np.log(reach) - np.log(limit)) if np.isfinite(reach) else 1e9)
    return worst


def _halves(box: Box, cut: Mapping[str, bool]) -> tuple[Box, Box] | None:
    """The box cut at the middle of its widest element; None where no element can be cut.

    ``cut`` are the inputs that may be, and whether their numbers are whole.
    """
    widest, place, name = 0.0, 0, ""
    for each, interval in ((each, box[each]) for each in cut):
        width = np.asarray(interval.upper - interval.lower).reshape(-1)
        if width.size and float(width.max()) > widest:
            widest, place, name = float(width.max()), int(width.argmax()), each
    if not name:
        return None
    interval = box[name]
    middle = float(interval.middle.reshape(-1)[place])
    low_end = high_start = middle
    if cut[name]:
        low_end = float(np.floor(middle))
        high_start = low_end + 1.0
    upper, lower = interval.upper.copy(), interval.lower.copy()
    upper.reshape(-1)[place], lower.reshape(-1)[place] = low_end, high_start
    return (
        {**box, name: Interval(interval.lower, upper)},
        {**box, name: Interval(lower, interval.upper)},
    )


def _joined(parts: list[Found]) -> dict[str, TensorBounds]:
    """The bounds that hold in every part."""
    joined = {}
    for name in parts[0]:
        each = [part[name] for part in parts]
        joined[name] = TensorBounds(
            lower=min(one.lower for one in each),
            upper=max(one.upper for one in each),
            reason=next((one.reason for one in each if one.reason is not None), None),
        )
    return joined

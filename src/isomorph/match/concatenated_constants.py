"""Match constants that were concatenated or split: gates of an LSTM, projections of attention."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Confidence, Pair
from isomorph.core.limits import CONSTANTS_AT_PLACE

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.constants import Constants


def match_concatenated(constants: Constants) -> None:
    """Pair constants that hold exactly the elements of several others, in any order."""
    places = [unmatched_by_place(constants, side) for side in (0, 1)]
    for place in places[1]:
        sides = [bucket.get(place, {}) for bucket in places]
        if not all(sides):
            continue
        if max(map(len, sides)) > CONSTANTS_AT_PLACE.most:
            CONSTANTS_AT_PLACE.reached()
            continue
        for name, whole in sides[1].items():
            parts = _parts(
                whole, {n: v for n, v in sides[0].items() if n in constants.unmatched_reference}
            )
            if len(parts) > 1:
                constants.add_pair(_pair(parts, name, "joined, in another order"))
        for name, whole in sides[0].items():
            parts = _parts(
                whole, {n: v for n, v in sides[1].items() if n in constants.unmatched_candidate}
            )
            for each in parts if len(parts) > 1 else ():
                constants.add_pair(_pair((name,), each, "a part of it"))


def unmatched_by_place(constants: Constants, side: int) -> dict[Hashable, dict[str, Array]]:
    """Return the unmatched constants of a side with their values, by where they are read."""
    found: dict[Hashable, dict[str, Array]] = {}
    for name in (constants.unmatched_reference, constants.unmatched_candidate)[side]:
        place, value = constants.place(side, name), constants.values(side, name)
        if place is not None and value is not None and value.size > 1:
            found.setdefault(place, {})[name] = value
    return found


def _parts(whole: Array, others: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the constants that together hold exactly the elements of ``whole``."""
    smaller = {name: value for name, value in others.items() if value.size < whole.size}
    if sum(value.size for value in smaller.values()) < whole.size:
        return ()
    inside = [name for name, value in smaller.items() if bool(np.isin(value, whole).all())]
    if sum(smaller[name].size for name in inside) != whole.size:
        return ()
    together = np.sort(np.concatenate([smaller[name].ravel() for name in inside]))
    return tuple(inside) if np.array_equal(together, np.sort(whole.ravel())) else ()


def _pair(ref: tuple[str, ...], cand: str, transform: str) -> Pair:
    return Pair(
        kind="constant",
        reference=ref,
        candidate=cand,
        transform=transform,
        evidence=("value", "structure"),
        confidence=Confidence.CERTAIN,
    )

"""Constants that were joined or split: gates of a recurrent layer, the parts of an attention."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.alignment import Confidence, Pair

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.constants import Constants

_MOST_TOGETHER = 32
"""Where more are read at one place, the place does not say what belongs together."""


def join(constants: Constants) -> None:
    """Settle those that hold exactly the numbers of several others, in whatever order."""
    places = [unsettled(constants, side) for side in (0, 1)]
    for place in places[1]:
        sides = [bucket.get(place, {}) for bucket in places]
        if not all(0 < len(each) <= _MOST_TOGETHER for each in sides):
            continue
        for name, whole in sides[1].items():
            parts = _parts(whole, {n: v for n, v in sides[0].items() if n in constants.left})
            if len(parts) > 1:
                constants.found(_pair(parts, name, "joined, in another order"))
        for name, whole in sides[0].items():
            parts = _parts(whole, {n: v for n, v in sides[1].items() if n in constants.open})
            for each in parts if len(parts) > 1 else ():
                constants.found(_pair((name,), each, "a part of it"))


def unsettled(constants: Constants, side: int) -> dict[Hashable, dict[str, Array]]:
    """The open constants of a side with their numbers, by the place at which they are read."""
    found: dict[Hashable, dict[str, Array]] = {}
    for name in (constants.left, constants.open)[side]:
        place, value = constants.place(side, name), constants.values(side, name)
        if place is not None and value is not None and value.size > 1:
            found.setdefault(place, {})[name] = value
    return found


def _parts(whole: Array, others: Mapping[str, Array]) -> tuple[str, ...]:
    """Those whose every number is among these, if together they are as many."""
    smaller = {name: value for name, value in others.items() if value.size < whole.size}
    if sum(value.size for value in smaller.values()) < whole.size:
        return ()
    inside = [name for name, value in smaller.items() if bool(np.isin(value, whole).all())]
    if sum(smaller[name].size for name in inside) != whole.size:
        return ()
    together = np.sort(np.concatenate([smaller[name].ravel() for name in inside]))
    return tuple(inside) if np.array_equal(together, np.sort(whole.ravel())) else ()


def _pair(ref: tuple[str, ...], cand: str, told: str) -> Pair:
    return Pair(
        kind="constant",
        reference=ref,
        candidate=cand,
        transform=told,
        evidence=("value", "structure"),
        confidence=Confidence.CERTAIN,
    )

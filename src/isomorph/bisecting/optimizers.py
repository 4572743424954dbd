"""Optimizers that are switched off one after the other, as the points of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.execution import Switch

ALL_ON = "all on"
"""The first point: no optimizer is off."""


def settings_of_point(side: str, point: str, switches: Mapping[str, Switch]) -> dict[str, str]:
    """Those of one side under which the optimizers up to ``point`` are off."""
    names = list(switches)
    return switched_off(side, names[: names.index(point) + 1] if point != ALL_ON else (), switches)


def switched_off(side: str, names: Sequence[str], switches: Mapping[str, Switch]) -> dict[str, str]:
    """The settings of one side that switch several optimizers off at a time."""
    joined: dict[str, list[str]] = {}
    for name in names:
        for key, value in switches[name].settings.items():
            joined.setdefault(f"{side}.{key}", []).append(value)
    return {key: ",".join(values) for key, values in joined.items()}

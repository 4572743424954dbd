"""Passes of a converter that are left out one after the other, as the points of a search."""

from __future__ import annotations

from collections.abc import Sequence

from isomorph.bisecting.optimizers import ALL_ON
from isomorph.core.converter_abilities import WITHOUT_PASSES


def options_of_point(point: str, names: Sequence[str]) -> dict[str, str]:
    """The options of the converter under which the passes up to ``point`` are left out."""
    return leaving_out(names[: list(names).index(point) + 1]) if point != ALL_ON else {}


def leaving_out(names: Sequence[str]) -> dict[str, str]:
    """The options of the converter under which these passes are left out."""
    return {WITHOUT_PASSES: "\n".join(names)}

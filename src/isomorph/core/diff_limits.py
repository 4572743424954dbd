"""Limits of a diff of two models. See ``core.limits``."""

from __future__ import annotations

from isomorph.core.limits import Limit

DIFF_ALIGNED_NODES = Limit(
    most=128,
    of="neighboring nodes of each side are aligned by their order, where nothing else pairs them",
    left_out="counterparts farther away than that in long parts without equal weights or names",
)
"""Beyond: a long part is cut into equal shares first, so that nodes near a cut may be shown as
added and removed, or in a group, although each has a counterpart."""

DIFF_VALUES = Limit(
    most=64,
    of="constants with other values are read to tell how they differ",
    left_out="how further constants differ",
)
"""Beyond: that a constant differs is still known from its digest."""

"""Limits of the search for the nodes of a narrow model that stay in float32.

Each that is hit is listed with the hop; see ``core.limits``.
"""

from __future__ import annotations

from isomorph.core.limits import Limit

ROUNDED_NODES = Limit(
    most=256,
    of="nodes are rounded by themselves, those with the largest constants first",
    left_out="the share of the loss of further nodes",
)
"""Beyond: the others stay narrow, or the target is reached by keeping all nodes."""
NARROW_TRIALS = Limit(
    most=48,
    of="narrow models are converted and measured to find the nodes to keep in float32",
    left_out="smaller sets of nodes to keep in float32",
)
"""Beyond: more nodes may be kept than are needed."""
NARROW_SAMPLES = Limit(
    most=32,
    of="inputs are looked at for numbers beyond the type",
    left_out="numbers beyond the type on further inputs",
)
"""Beyond: such a number is found by the final check, and the result is divergent."""
GENERATED_EACH = 8
"""Generated inputs of each distribution on which numbers beyond a narrow type are looked for. With
fewer, how far they vary is hardly known; with more, every one costs a run in float64."""

"""Limits of the search for a repair.

Each that is hit is listed with the refused patches where nothing was repaired; see ``core.limits``.
"""

from __future__ import annotations

from isomorph.core.limits import Limit

REPAIR_ROUNDS = Limit(
    most=8,
    of="rounds of patches are applied, each on the one before",
    left_out="further rounds of repair",
)
REPAIR_ATTEMPTS = Limit(
    most=12,
    of="combinations of patches are measured in one round",
    left_out="further combinations of patches",
)
PROPOSALS = Limit(
    most=600,
    of="patches of one kind are tried at one place",
    left_out="further patches of one kind",
)
OUTPUT_ORDERS = Limit(
    most=4,
    of="outputs are tried in every order",
    left_out="other orders of the outputs",
)
TRANSPOSED_AXES = Limit(
    most=5,
    of="axes of a transposed tensor are tried in every order",
    left_out="other orders of the axes of a tensor that has more",
)
MOVED_AXES = Limit(
    most=4,
    of="axes of an input, a constant or a reshaped tensor are tried in every order",
    left_out="other orders of the axes of an input or a constant",
)
CONCAT_PARTS = Limit(
    most=5,
    of="parts of a concatenation are tried in every order",
    left_out="other orders of the parts of a concatenation",
)
TRANSPOSED_NODES = Limit(
    most=3,
    of="further nodes of a fault get a transpose before their inputs",
    left_out="a transpose before further nodes",
)
FOLLOWED_RESHAPES = Limit(
    most=4,
    of="reshapes are followed back to a tensor that both models have",
    left_out="operands behind more reshapes",
)
FLOAT_NEIGHBORS = Limit(
    most=16,
    of="neighboring float32 numbers are tried around a fitted one",
    left_out="float32 numbers farther from a fitted one",
)
MATCHED_CHANNELS = Limit(
    most=4096,
    of="channels of a weight are matched with those of the reference's",
    left_out="another order of the channels of a weight that has more",
)
ORIGINAL_NODES = Limit(
    most=24,
    of="nodes of the reference are put back by one patch: more would be another model",
    left_out="a patch that puts the original nodes back",
)
FLOAT_NODES = Limit(
    most=64,
    of="nodes are tried in float, those with the most weights first",
    left_out="further nodes that might be kept in float",
)
FLOAT_TRIES = Limit(
    most=512,
    of="runs of the model in float64 are made to find nodes that gain together",
    left_out="further groups of nodes that might be kept in float",
)
"""Beyond, for all of these: there may be a repair that was not tried."""

# A number that is fitted to the values

FITTED_DECADES = range(-12, 4)
"""Powers of ten among which a fitted number is looked for first: 1e-12, below every epsilon in use,
to 1e3. Beyond: the search starts at the nearest end."""
FITTED_MANTISSAS = (1.0, 2.5, 5.0)
"""Numbers of each of these decades, in nearly equal ratios."""
FITTED_STEPS = 48
"""Steps of the golden section: 0.618**48 is below 1e-10 of the interval, and less than float32
tells apart. Beyond: the number is as near as that."""
FITTED_DIGITS = 6
"""Digits of the decimals that somebody may have written: float32 holds no more for certain. Beyond:
the number is tried in full."""
FITTED_DENOMINATOR = 64
"""The largest denominator of a fraction that somebody may have written. Beyond: as for digits."""

# Which patch is kept

PATCHES_AHEAD = 24
"""Proposals that are tried after one restores a fault, in case a smaller one does, too. Beyond: the
smallest of those that restored it is measured first."""
PATCHES_KEPT = 4
"""Patches that restore a fault and are compared by their size. Beyond: as for the proposals."""

NODES_BEFORE_FAULT = 3
"""Nodes on a path to a fault that a repair may change, where its kind does not need fewer. Beyond:
a repair farther off is not tried."""

NODES_AFTER_FAULT = 2
"""Nodes on a path from a fault at which a repair may insert a cast. Beyond: none is tried."""

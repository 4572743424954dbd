"""Limits of the search for the cause of a wrong node.

Each that is hit is reported where no cause was confirmed; see ``core.limits``.
"""

from __future__ import annotations

from isomorph.core.limits import Limit

FUSED_PRODUCTS = Limit(
    most=64,
    of="products of bytes between quantizers are predicted, each by a run of the oracle",
    left_out="whether fused products of bytes saturate",
)
"""Beyond: saturation of products that a runtime fuses is not recognized, and no node is named."""

PARAMETER_TRIALS = Limit(
    most=64,
    of="values of parameters are tried at one wrong place",
    left_out="further values of parameters",
)
PARAMETER_NODES = Limit(
    most=4,
    of="nodes of one wrong place have their parameters tried",
    left_out="the parameters of further nodes of a group",
)
PARAMETER_COMBINATIONS = Limit(
    most=320,
    of="combinations of parameters are tried at one node",
    left_out="further combinations of parameters",
)
INPUT_ORDERS = Limit(
    most=24,
    of="orders of the inputs or outputs of one node are tried",
    left_out="further orders of inputs or outputs",
)
FOLDED_WEIGHTS = Limit(
    most=48,
    of="combinations of a weight and the operators folded into it are tried",
    left_out="further combinations of folded weights",
)
BODY_CONSTANTS = Limit(
    most=12,
    of="constants of the bodies of one node are tried",
    left_out="further constants inside a body",
)
CONNECTIONS = Limit(
    most=16,
    of="tensors are tried as the missing input of a node",
    left_out="further tensors that may be a missing input",
)
ADDED_NODES = Limit(
    most=48,
    of="sequences of nodes of one wrong place are left out, each by an evaluation",
    left_out="further sequences of nodes that the reference may not have",
)
SIZES = Limit(
    most=16,
    of="computed sizes are tried in the place of a stored one",
    left_out="further sizes that the reference computes",
)
LOOP_ROUNDS = Limit(
    most=8,
    of="rounds more or fewer are tried for a loop",
    left_out="numbers of rounds that are farther from the present one",
)
CONSTANT_ORDERS = Limit(
    most=120,
    of="orders of the axes of a constant are compared with the reference's",
    left_out="further orders of the axes of a constant",
)
OPTIMIZER_ROUNDS = Limit(
    most=4,
    of="rounds of switching further optimizers off are made",
    left_out="further combinations of optimizers",
)
"""Beyond, for all of these: the cause may be named as unknown, or by what merely looks like it."""

LARGEST_STEP = 3
"""The largest stride, dilation and uniform padding, and the farthest part of a slice, that is tried
for a parameter. Beyond: the cause may be named as unknown; the value that the reference states is
always tried."""

QUANTIZED_AXES = 5
"""Axes that are tried for the scales of a quantizer: batch, channels and three of space. Beyond:
the cause may be named as unknown."""

CONSTANT_DEPTH = 16
"""Nodes that are followed back to learn whether a tensor depends on constants alone. Beyond: it
counts as data, and none of its constants is tried."""

PARAMETER_ELEMENTS = 16
"""Elements up to which a constant of a node counts as a parameter, which other frameworks keep as
an attribute, unless the reference has a constant of the same size. Beyond: it counts as a
weight."""

WASTED_STEPS = 2**7
"""Steps of a quantizer below which its range is called wasted: half of what eight bits have. It
only chooses the words of a finding whose quantizer is coarser than it has to be."""

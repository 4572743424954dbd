"""Limits of what a proof searches; beyond them something is open, never wrong."""

from __future__ import annotations

from isomorph.core.limits import Limit

PROOF_CANDIDATES = Limit(
    most=6,
    of="tensors of the reference are compared with one of the candidate in a proof",
    left_out="further tensors of the same shape",
)
"""Beyond: a tensor that equals a farther one is open."""

PROOF_DISTANCE = Limit(
    most=64,
    of="nodes before and behind the expected place are compared in a proof",
    left_out="farther nodes of the reference",
)
"""Beyond: as above."""

PROOF_PRODUCTS = Limit(
    most=400_000_000_000,
    of="products of residues are computed in a proof",
    left_out="tensors that need more",
)
"""Beyond: what needs more is open."""

PROOF_SIGNS = Limit(
    most=12,
    of="operations are followed to tell the signs of a divisor in a proof",
    left_out="what lies behind them",
)
"""Beyond: a divisor may be zero, and arithmetic with the quotient is only compared as written."""

PROOF_STEPS = Limit(
    most=256,
    of="steps of a recurrence or loop are written out in a proof",
    left_out="the single steps of longer ones",
)
"""Beyond: it is compared as a whole, by what one step computes from any state. Of a loop inside
another that is written out, a sixteenth."""

PROOF_ROUNDS = Limit(
    most=64,
    of="results of rounds of the reference's loops are compared with one of the candidate",
    left_out="further results of the same shape",
)
"""Beyond: a loop whose round equals a farther one is open."""

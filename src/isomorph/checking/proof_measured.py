"""A last look at a proof: float64 values of both sides on one sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from isomorph.core.proof import OpenReason, OutputProof, Proof, Reason, Standing
from isomorph.core.stated_numbers import PROOF_AMPLIFICATION, PROOF_FLOAT64
from isomorph.oracle.noise import UNIT_ROUNDOFF

if TYPE_CHECKING:
    from isomorph.core.trace import Arrays
    from isomorph.sessions.model_handle import ModelHandle


class _Evaluated(Protocol):
    """One side: what evaluates it in float64, and its inputs."""

    @property
    def handle(self) -> ModelHandle: ...
    @property
    def feeds(self) -> Arrays: ...


def measured(facts: Sequence[_Evaluated], proof: Proof) -> Proof:
    """The proof without outputs whose float64 values differ by more than it assumes.

    Re-rounded constants are equal up to a rounding; where they cancel, what is left may not be.
    """
    proven = [each for each in proof.outputs if each.standing is Standing.PROVEN]
    if not proven:
        return proof
    names = ([each.reference for each in proven], [each.candidate for each in proven])
    values = [
        side.handle.oracle().run(dict(side.feeds), list(dict.fromkeys(wanted)))
        for side, wanted in zip(facts, names, strict=True)
    ]
    # Of what a constant is summed from, its rounding is a few units, however much cancels in it.
    unit = UNIT_ROUNDOFF["float32"] if proof.assumptions.largest_rounding else 0.0
    allowed = PROOF_FLOAT64 + PROOF_AMPLIFICATION * unit

    def seen(output: OutputProof) -> OutputProof:
        if output.standing is not Standing.PROVEN:
            return output
        off = _distance(values[0][output.reference], values[1][output.candidate])
        if off <= allowed:
            return output
        reason = OpenReason(reason=Reason.MEASURED, details=f"{off:.3g}")
        return replace(output, standing=Standing.OPEN, open=reason)

    return replace(proof, outputs=tuple(map(seen, proof.outputs)))


def _distance(one: object, other: object) -> float:
    """The largest difference, beside the largest element; equal infinities and NaN are equal."""
    a, b = (np.asarray(each, np.float64) for each in (one, other))
    if a.shape != b.shape:
        return float("inf")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        off = np.where(same, 0.0, np.abs(a - b))
        scale = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    return float(off.max(initial=0.0) / scale) if scale else float(off.max(initial=0.0))

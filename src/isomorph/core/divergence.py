"""How far two tensors are apart, how far rounding explains, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from isomorph.core.constraints import Count


class Judgment(StrEnum):
    """Whether an error is within its budget; UNKNOWN never counts as YES."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """The answer to: are these two models the same function?"""

    EQUIVALENT = "equivalent"
    DEGRADED = "degraded"
    DIVERGENT = "divergent"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """0 same or degraded within budget, 1 divergent, 3 could not be judged."""
        return {"equivalent": 0, "degraded": 0, "divergent": 1, "unknown": 3}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """How far ``actual`` is from ``expected``; None where a measure is undefined.

    ``compared`` counts the elements that are finite on both sides; ``nonfinite_mismatch`` those
    where NaN or an infinity stands on one side only, or with the other sign.
    """

    elements: Count
    compared: Count
    """Elements that are finite on both sides."""
    differing: Count
    nonfinite_mismatch: Count
    signed_zero_mismatch: Count
    max_abs: float | None
    max_rel: float | None
    max_ulp: float | None
    rms: float | None
    relative_l2: float | None
    sqnr_db: float | None
    cosine: float | None
    argmax_agreement: float | None
    worst_index: tuple[Count, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The largest distance that is explained, relative to each element's own spread.

    ``ratio`` is the largest |distance| / allowed over the elements: at most 1 is within.
    ``allowed_max`` and ``allowed_rms`` are its absolute size; ``derivation`` describes
    where it comes from. ``ratio`` is None when no budget could be derived. ``freedom`` is how
    many independent draws its deviations are worth; None where they are known exactly.
    ``uncovered`` counts the elements whose value no draw reached, where draws usually leave some;
    ``blind`` those that differ within a budget larger than any value of the tensor.
    """

    derivation: str
    ratio: float | None
    allowed_max: float | None = None
    allowed_rms: float | None = None
    threshold: float | None = None
    draws: Count = 0
    freedom: float | None = None
    """How many independent draws the deviations are worth; null where they are exact."""
    uncovered: Count = 0
    """Elements whose value no draw reached, where draws usually leave some."""
    blind: Count = 0
    """Elements that differ within a budget larger than any value of the tensor."""
    lower_bound: bool = False
    """Whether it is from a part of the noise (last nodes, or float64): the true one is larger."""
    float64_rounding: bool = False
    """Whether it holds the rounding of the float64 evaluations alone, not the allowance."""

    @property
    def within(self) -> Judgment:
        """UNKNOWN, never YES, when no budget could be derived."""
        if self.ratio is None:
            return Judgment.UNKNOWN
        return Judgment.YES if self.ratio <= 1.0 else Judgment.NO


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTerm:
    """One of the three errors between a reference and a candidate, at one output."""

    distance: Distance
    budget: Budget

    @property
    def within(self) -> bool:
        """Whether the error is known to be within its budget."""
        return self.budget.within is Judgment.YES

    @property
    def beyond(self) -> bool:
        """Whether the error is known to exceed its budget; False where no budget is known."""
        return self.budget.within is Judgment.NO


class DivergenceKind(StrEnum):
    """What was compared at one pair of outputs."""

    VALUES = "values"
    """The values, element by element."""
    SHAPE = "shape"
    """The shapes alone: they differ, and no value has a counterpart."""
    MISSING = "missing"
    """Nothing: one side, or both, has no such output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Everything measured at one pair of outputs.

    ``translation`` is oracle against oracle, judged by the allowance, or by the rounding of float64
    where that explains it or where a faulty node proves the difference; ``rounding`` is the same
    distance judged by the rounding budget of the output; ``observed`` is run against run.
    """

    reference_output: str | None
    candidate_output: str | None
    dtype: str
    shape: tuple[Count, ...]
    verdict: Verdict
    reason: str
    kind: DivergenceKind = DivergenceKind.VALUES
    observed: ErrorTerm | None = None
    """Run against run."""
    translation: ErrorTerm | None = None
    """Oracle against oracle, judged by the allowance."""
    rounding: ErrorTerm | None = None
    """The translation error, judged by the rounding budget."""
    intended_loss: ErrorTerm | None = None
    """Judged by what the candidate's quantizers intend."""
    execution_reference: ErrorTerm | None = None
    """The reference's run against its own oracle."""
    execution_candidate: ErrorTerm | None = None
    """The candidate's run against its own oracle."""

    @property
    def elements(self) -> int:
        """How many values were compared."""
        part = self.observed or self.rounding or self.execution_candidate
        return part.distance.elements if part is not None else 0

    @property
    def finite(self) -> int:
        """How many of them are finite on both sides, in the runs or in float64.

        A NaN equals a NaN and an infinity an infinity, whatever was computed on the way to them.
        """
        parts = (self.observed, self.translation, self.rounding, self.execution_candidate)
        return max((part.distance.compared for part in parts if part is not None), default=0)

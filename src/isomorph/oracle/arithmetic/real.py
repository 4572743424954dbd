"""Real numbers: every result in float64, every constant as it is declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isomorph.oracle.noise import NO_NOISE
from isomorph.oracle.step import WIDE

if TYPE_CHECKING:
    from isomorph.oracle.call import Call
    from isomorph.oracle.step import Step
    from isomorph.oracle.value import EvalValue


class RealArithmetic:
    """Float64, taken for the real numbers."""

    def compute(self, step: Step[Any], call: Call, inputs: Sequence[EvalValue]) -> tuple[Any, ...]:
        """The results in float64."""
        return step.compute(call, step.operands(inputs, WIDE, NO_NOISE))

    def constants(
        self, step: Step[Any], call: Call, inputs: Sequence[EvalValue], values: list[EvalValue]
    ) -> list[EvalValue]:
        """The declared values."""
        return values

    def stored(self, name: str, value: EvalValue) -> EvalValue:
        """The declared value."""
        return value

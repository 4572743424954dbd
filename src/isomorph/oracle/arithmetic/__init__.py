"""The arithmetic of one evaluation: real numbers, or real numbers with the noise of rounding.

The executor asks it for every result and every stored constant, so another arithmetic needs no
executor of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from isomorph.oracle.arithmetic.noisy import NoisyArithmetic
from isomorph.oracle.arithmetic.real import RealArithmetic

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.call import Call
    from isomorph.oracle.magnitudes import KeptSizes
    from isomorph.oracle.step import Step
    from isomorph.oracle.value import EvalValue

__all__ = ["Arithmetic", "NoisyArithmetic", "RealArithmetic", "arithmetic_of"]


class Arithmetic(Protocol):
    """How results are computed, and what stored numbers stand for."""

    def compute(self, step: Step[Any], call: Call, inputs: Sequence[EvalValue]) -> tuple[Any, ...]:
        """The results of a node on data."""
        ...

    def constants(
        self, step: Step[Any], call: Call, inputs: Sequence[EvalValue], values: list[EvalValue]
    ) -> list[EvalValue]:
        """The results of a node among constants, given their ``values`` in declared types."""
        ...

    def stored(self, name: str, value: EvalValue) -> EvalValue:
        """What a constant of this name stands for."""
        ...


def arithmetic_of(noise: Noise | None, magnitudes: KeptSizes) -> Arithmetic:
    """That of an evaluation with this noise, or without any."""
    return RealArithmetic() if noise is None else NoisyArithmetic(noise, magnitudes)

"""Real numbers with the noise of rounding, as one draw asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.oracle.dtypes import HALVES, is_float
from isomorph.oracle.noise import NO_NOISE, generator
from isomorph.oracle.rounded_constants import rounded_again
from isomorph.oracle.rounding_rules import disturbed_attributes, dtype_in_run, stored_noise
from isomorph.oracle.step import STILL, WIDE
from isomorph.oracle.tied_noise import rounding_of

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.call import Call
    from isomorph.oracle.magnitudes import KeptSizes
    from isomorph.oracle.noise import Rounding
    from isomorph.oracle.step import Step
    from isomorph.oracle.value import EvalValue


class NoisyArithmetic:
    """Float64 with the noise that one draw asks for."""

    def __init__(self, noise: Noise, magnitudes: KeptSizes) -> None:
        self.noise = noise
        self._source: Rounding | None = None
        if noise.rounding or noise.quantizers:
            self._source = rounding_of(noise, magnitudes)

    def stored(self, name: str, value: EvalValue) -> EvalValue:
        """The constant, moved by one rounding of its type if the noise names it."""
        return rounded_again(name, value, self.noise)

    def compute(self, step: Step[Any], call: Call, inputs: Sequence[EvalValue]) -> tuple[Any, ...]:
        """The results in float64, disturbed as the node's declared arithmetic would round them."""
        noise, source = self.noise, self._source
        if noise.attributes and step.disturbable:
            random = generator(noise.seed, (*call.site, "attributes"))
            call = replace(call, attributes=disturbed_attributes(call.attributes, random))
        if source is None:
            return step.compute(call, step.operands(inputs, WIDE, NO_NOISE))
        dtype = dtype_in_run(call.dtype, noise)
        unit = step.unit(dtype) if noise.rounding else 0.0
        source.enter(call.site, unit)
        arrays = step.operands(inputs, WIDE, source)
        # Operands may draw for a stored tensor, which has a site of its own.
        source.enter(call.site, unit)
        results = step.compute(call.with_noise(source), arrays)
        if noise.rounding and dtype in HALVES and not step.exact:
            steps = step.storage_steps(dtype)
            return tuple(stored_noise(each, dtype, source, steps) for each in results)
        return results

    def constants(
        self, step: Step[Any], call: Call, inputs: Sequence[EvalValue], values: list[EvalValue]
    ) -> list[EvalValue]:
        """The declared values, with how far the noise moves the evaluation in float64.

        A constant keeps its declared value; its noise is measured beside it.
        """
        if step.discrete or step.shape_only or not self._moves(step, inputs, values):
            return values
        moved = self.compute(step, call, inputs)
        still = step.compute(call, step.operands(inputs, STILL, NO_NOISE))
        return step.disturbed_constants(values, moved, still, self.noise)

    def _moves(
        self, step: Step[Any], inputs: Sequence[EvalValue], values: Sequence[EvalValue]
    ) -> bool:
        noise = self.noise
        if noise.quantizers:
            return True
        if not any(is_float(value.dtype) for value in values):
            return False
        shifted = any(value.shifted for value in inputs)
        rounds = noise.rounding and not step.exact
        return shifted or rounds or (noise.attributes and step.disturbable)

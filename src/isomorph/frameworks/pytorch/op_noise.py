"""How much each ATen operator rounds, and the same operator with that much noise.

Sums of products are disturbed by their length and the sizes of their terms, elementwise
operators by the largest intermediate of the textbook formula, composite ones step by step.
What only moves data is left alone. An operator nobody described is disturbed at its inputs and
its outputs by one rounding each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from isomorph.core.ops import MOVES_DATA
from isomorph.frameworks.pytorch.affine_quantizers import left_integers
from isomorph.frameworks.pytorch.bound_arguments import array, bound, each_float, on_floats, tensor
from isomorph.frameworks.pytorch.composite_ops import COMPOSITES
from isomorph.frameworks.pytorch.intermediate_sizes import EXACTLY, size_rule
from isomorph.frameworks.pytorch.op_names import neutral_name
from isomorph.frameworks.pytorch.operand_devices import call_on_one_device
from isomorph.frameworks.pytorch.program import Step, operator_name, plain_word
from isomorph.frameworks.pytorch.recurrent import RECURRENT, Array
from isomorph.frameworks.pytorch.rounding_classes import CASTS, EXACT, SUMS
from isomorph.frameworks.pytorch.sum_noise import disturbed_sum
from isomorph.oracle.narrow_storage import disturbed_by_storage
from isomorph.oracle.noise import NoiseSource


def disturbed(
    step: Step,
    arguments: list[Any],
    named: dict[str, Any],
    source: NoiseSource,
    narrow: str = "",
) -> Any:  # noqa: ANN401
    """The step's result with the rounding of its arithmetic; ``narrow`` is what it is kept in."""
    word = plain_word(step)
    if narrow and word in RECURRENT:
        source = StoredAtEachStep(source, narrow)
    composite = COMPOSITES.get(word)
    if composite is not None:
        result = composite(bound(step, arguments, named), source)
        if result is not None:
            return result
    if word in SUMS:
        return disturbed_sum(step, word, arguments, named, source)
    if rounds_nothing(step):
        result = call_on_one_device(step, arguments, named)
        return left_integers(arguments[0], result, source) if word in CASTS else result
    size = size_rule(word)
    if size is None:
        return _unknown(step, arguments, named, source)
    result = call_on_one_device(step, arguments, named)
    magnitude = size(bound(step, arguments, named), result)
    if magnitude is EXACTLY:
        return result
    return each_float(result, lambda value: source.rounded(array(value), magnitude))


def rounds_nothing(step: Step) -> bool:
    """Whether the operator selects, moves or negates, and therefore never rounds."""
    word = plain_word(step)
    if word in SUMS:
        return False
    return word in EXACT or neutral_name(operator_name(step.target)) in MOVES_DATA


def _unknown(step: Step, arguments: list[Any], named: dict[str, Any], source: NoiseSource) -> Any:  # noqa: ANN401
    def shaken(value: Any) -> Any:  # noqa: ANN401
        return on_floats(value, lambda each: tensor(source.rounded(array(each), abs(array(each)))))

    result = call_on_one_device(
        step,
        [shaken(value) for value in arguments],
        {key: shaken(each) for key, each in named.items()},
    )
    return each_float(result, lambda value: source.rounded(array(value), abs(array(value))))


def stored(result: Any, dtype: str, random: np.random.Generator) -> Any:  # noqa: ANN401
    """Values after being kept in a narrow type: uniform within one rounding, if there is one."""
    return each_float(result, lambda value: _kept(value, dtype, random))


def _kept(value: torch.Tensor, dtype: str, random: np.random.Generator) -> Array:
    return disturbed_by_storage(array(value), dtype, random)


class StoredAtEachStep:
    """The noise of an operator that is a loop: what a step makes is kept in the narrow type."""

    active = True

    def __init__(self, source: NoiseSource, dtype: str) -> None:
        self.source, self.dtype = source, dtype
        self.quantizers, self.run_time = source.quantizers, source.run_time
        self.scale = source.scale

    @property
    def random(self) -> np.random.Generator:
        """That of the source."""
        return self.source.random

    def rounded(self, y: Array, *sizes: Any, **more: Any) -> Array:  # noqa: ANN401
        """Rounded in float32, and again when it is kept."""
        return self._kept(self.source.rounded(y, *sizes, **more))

    def added(self, y: Array, *operands: Array) -> Array:
        """Added in float32, and rounded when it is kept."""
        return self._kept(self.source.added(y, *operands))

    def reduced(self, y: Array, *terms: Any, **more: Any) -> Array:  # noqa: ANN401
        """Summed in float32, and rounded when it is kept."""
        return self._kept(self.source.reduced(y, *terms, **more))

    def _kept(self, value: Array) -> Array:
        return _kept(tensor(value), self.dtype, self.random)

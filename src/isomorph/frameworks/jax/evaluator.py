"""StableHLO programs for the float64 oracle, fed and fetched at any tensor of the main function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frameworks.jax.eval_steps import compiled, stored_value
from isomorph.frameworks.jax.program import JaxProgram
from isomorph.oracle.dtypes import is_float
from isomorph.oracle.evaluator import own_constant
from isomorph.oracle.named_graph import NamedGraph
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import WeightCache

if TYPE_CHECKING:
    from isomorph.core.trace import Noise


class JaxGraph(NamedGraph):
    """The operations as steps, and the constants of the module."""

    def __init__(self, program: JaxProgram, *, file: str | None = None) -> None:
        weights: WeightCache[str] = WeightCache(lambda key: stored_value(program, key))
        self._tensors = program.tensors
        super().__init__(
            compiled(program, weights, file=file),
            program.inputs,
            program.outputs,
            stored=program.stored,
            weights=weights,
        )

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        """A fed array: as the constant that it is, or as data."""
        dtype, array = self._tensors[key].dtype, np.asarray(value)
        constant = key in self.folded.names
        if is_float(dtype) and array.dtype.kind in "fV":
            own = own_constant(array, dtype) if constant else None
            return EvalValue(lifted(array), dtype=dtype) if own is None else own
        return EvalValue(array, dtype=dtype, constant=constant)

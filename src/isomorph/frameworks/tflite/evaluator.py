"""TFLite programs for the float64 oracle, fed and fetched at any tensor of the main sub-graph."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.cutting import unknown_tensor
from isomorph.frameworks.tflite.eval_steps import compiled
from isomorph.frameworks.tflite.op_facts import QUANTIZED
from isomorph.frameworks.tflite.oracle_step import grid_of
from isomorph.frameworks.tflite.program import TfliteProgram, TfliteTensor
from isomorph.frameworks.tflite.variable_order import VariableOrder
from isomorph.kernels.tflite.quantized import Reach, onto, quanta
from isomorph.oracle import evaluator as oracle
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.evaluator import own_constant, words_as_objects
from isomorph.oracle.noise import Array, feed_source
from isomorph.oracle.plan import Planner, constant_tensors
from isomorph.oracle.step import Scope, Step
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import FoldedConstants

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.executor import Executor


class Evaluator(oracle.Evaluator[int]):
    """One TFLite model, loaded once and run many times, from the initial state of its variables.

    Quantized tensors are returned as the integers they hold; where the noise disturbs the
    quantizers these are float64 numbers of quanta.
    """

    def __init__(self, program: TfliteProgram, *, file: str | None = None) -> None:
        super().__init__(TfliteMainGraph(program, file))

    def accepted(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """All but None, which stands for a resource: it has no array."""
        return {name: value for name, value in feeds.items() if value is not None}


class TfliteMainGraph:
    """Sub-graph 0: its steps, its constants and what its tensors declare."""

    def __init__(self, program: TfliteProgram, file: str | None) -> None:
        parts = compiled(program, file=file)
        self._main, self._names = parts[0], program.index
        self.steps, self.outputs = self._main.steps, self._main.outputs
        self.tensors = self._main.tensors
        self._quantizes = any(
            grid_of(each) is not None for each in self.tensors if not each.constant
        )
        stored = {tensor.index for tensor in self.tensors if self.is_stored(tensor.index)}
        self.planner: Planner[int, Step[int]] = Planner(
            self.steps,
            self._main.inputs,
            stored,
            name_of=lambda key: self.tensors[key].name,
            before=VariableOrder(parts).before,
        )
        self.folded = FoldedConstants(
            constant_tensors(
                self.steps,
                [tensor.index for tensor in self.tensors if tensor.constant],
                lambda step, known: step.rule is None and all(key in known for key in step.needs),
            )
        )

    def find(self, name: str) -> int:
        """The tensor of this name; outputs may have several."""
        if name not in self._names:
            raise unknown_tensor(name, self._names)
        return self._names[name]

    def name(self, key: int, scope: Scope) -> str:
        """The name of a tensor."""
        return self.tensors[key].name

    def is_stored(self, key: int) -> bool:
        """Whether it is a constant or a variable."""
        return self.tensors[key].constant or self.tensors[key].variable

    def stored(self, key: int, executor: Executor, scope: Scope) -> EvalValue | None:
        """The constant, or the state of a variable."""
        found = self._main.stored(key, executor, scope)
        return None if found is None else executor.arithmetic.stored(self.name(key, scope), found)

    @property
    def keeps_weights(self) -> bool:
        """Whether all weights that were read stay between runs."""
        return self._main.weights.complete

    def reads_shared(self, *, between: int) -> AbstractContextManager[None]:
        """Within, a weight that is read stays until ``release_reads``, if several draws use it."""
        return self._main.weights.reads_shared(between=between)

    def release_reads(self) -> None:
        """Release the weights that were read since the last call, if nothing keeps them."""
        self._main.weights.release_reads()

    def fed(self, key: int, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        """A fed array: on its tensor's grid, as the constant that it is, or as data."""
        tensor, array = self.tensors[key], words_as_objects(np.asarray(value))
        constant = key in self.folded.names
        if tensor.dtype in QUANTIZED and array.dtype.kind == "f":
            # Where weights alone are quantized, others in their place are compared without it.
            as_given = tensor.constant and not self._quantizes
            return _quantized(tensor, array, noise, as_given=as_given)
        if is_float(tensor.dtype) and array.dtype.kind in "fV":
            own = own_constant(array, tensor.dtype) if constant else None
            return EvalValue(lifted(array), dtype=tensor.dtype) if own is None else own
        return EvalValue(array, dtype=tensor.dtype, constant=constant)

    def shown(self, key: int, value: EvalValue) -> Any:  # noqa: ANN401
        """The value in float64; a resource has none that could be shown."""
        wide = value.wide()
        return wide if isinstance(wide, np.ndarray) else None

    def clear(self) -> None:
        """Release lifted weights, plans and folded constants."""
        self._main.weights.clear()
        self.planner.clear()
        self.folded.clear()


def _quantized(
    tensor: TfliteTensor, array: Array, noise: Noise | None, *, as_given: bool
) -> EvalValue:
    grid = grid_of(tensor)
    if grid is not None and as_given:
        return EvalValue(quanta(array.astype(np.float64), grid), dtype=tensor.dtype, constant=True)
    if grid is None:
        return EvalValue(array.astype(numpy_dtype(tensor.dtype)), dtype=tensor.dtype)
    call = Call(op="QUANTIZE", noise=feed_source(noise, tensor.index))
    integers = onto(array.astype(np.float64), grid, call, keeps=False, reach=Reach())
    return EvalValue(integers, dtype=tensor.dtype)

"""Frozen TensorFlow graphs for the float64 oracle, fed and fetched at any tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frameworks.tensorflow.eval_steps import Compiler
from isomorph.frameworks.tensorflow.op_facts import constant_names, refuse_unsupported
from isomorph.frameworks.tensorflow.program import Spec, TfProgram
from isomorph.frameworks.tensorflow.tensor_list_ops import from_feed, to_fetch
from isomorph.oracle.dtypes import is_float
from isomorph.oracle.evaluator import Evaluator, own_constant, words_as_objects
from isomorph.oracle.named_graph import NamedGraph, same_in_every_run
from isomorph.oracle.step import Scope
from isomorph.oracle.value import DEAD, EvalValue, lifted

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.executor import Executor


def evaluator_of(program: TfProgram, file: str | None = None) -> Evaluator[str]:
    """A program, loaded once and run many times; an operator without a meaning is refused."""
    refuse_unsupported(program, file)
    return Evaluator(TfMainGraph(program))


class TfMainGraph(NamedGraph):
    """The frozen graph: its steps, its constants and what its tensors declare."""

    def __init__(self, program: TfProgram) -> None:
        compiler = Compiler()
        self._main, self._specs = compiler.body(program), program.specs
        self._constants = constant_names(program)
        super().__init__(
            self._main.steps,
            self._main.inputs,
            self._main.outputs,
            stored=program.constants.keys(),
            weights=compiler.weights,
            folds=lambda step, known: step.rule is None and same_in_every_run(step, known),
        )

    def stored(self, key: str, executor: Executor, scope: Scope) -> EvalValue | None:
        """The constant of this name."""
        found = self._main.stored(key, executor, scope)
        return None if found is None else executor.arithmetic.stored(key, found)

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        """A fed array or list: as the constant that it is, or as data."""
        dtype = self._specs.get(key, Spec()).dtype
        if isinstance(value, (list, tuple)):
            return EvalValue(lifted(from_feed(value)), dtype=dtype)
        array, constant = words_as_objects(np.asarray(value)), key in self._constants
        if dtype is None or not (is_float(dtype) and is_float(array.dtype.name)):
            return EvalValue(lifted(array), dtype=dtype, constant=constant)
        own = own_constant(array, dtype) if constant else None
        return EvalValue(lifted(array), dtype=dtype) if own is None else own

    def shown(self, key: str, value: EvalValue) -> Any:  # noqa: ANN401
        """The value in float64, text as strings; None for a branch that was not taken."""
        if value is DEAD:
            return None
        wide = value.wide()
        if isinstance(wide, list):
            dtype = self._specs.get(key, Spec()).dtype
            return to_fetch(wide, "float64" if is_float(dtype) else dtype)
        array = np.asarray(wide)
        if array.dtype.kind in "OS":
            words = [
                word.decode("utf-8", "surrogateescape") if isinstance(word, bytes) else str(word)
                for word in array.reshape(-1)
            ]
            return np.array(words, dtype=object).reshape(array.shape)
        return array

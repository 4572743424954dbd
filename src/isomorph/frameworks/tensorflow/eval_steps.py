"""Nodes of TensorFlow for the float64 executor: by our kernels, or by TensorFlow in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import RuntimeFailedError
from isomorph.frameworks.tensorflow.eval_control import RULES
from isomorph.frameworks.tensorflow.eval_native import failed
from isomorph.frameworks.tensorflow.op_facts import (
    DISCRETE,
    PASSES,
    SHAPE_ONLY,
    dtypes_of,
    is_inexact,
    narrow_only,
    works_in_floats,
)
from isomorph.frameworks.tensorflow.op_noise import (
    arithmetic_unit_of,
    computed_by,
    moved_as_declared,
    rounds_nothing,
    storage_steps,
)
from isomorph.frameworks.tensorflow.oracle_ops_random import RANDOM
from isomorph.frameworks.tensorflow.program import Spec, TfNode, TfProgram
from isomorph.frameworks.tensorflow.tensor_list_ops import LISTS, computed_list
from isomorph.oracle.call import Call, Kernel
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.step import DECLARED, Scope, Step, View
from isomorph.oracle.value import EvalValue
from isomorph.oracle.weights import WeightCache

if TYPE_CHECKING:
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.noise import NoiseSource

_COMPLEX = {"complex64": "float32", "complex128": "float64"}

Key = tuple[str, str]
"""A constant by the name of its graph or body, and its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TfStep(Step[str]):
    """One node. ``wide`` computes in float64, ``declared`` in the declared types.

    ``base`` is its call without site and noise; ``body`` returns the body that an attribute names.
    """

    node: TfNode
    base: Call
    dtypes: tuple[str | None, ...]
    wide: Kernel
    declared: Kernel
    body: Callable[[str], TfBody]

    def site(self, scope: Scope) -> tuple[Any, ...]:
        """Its name with those of the bodies around it, and the rounds of loops."""
        return (scope.prefix + self.name, *scope.rounds)

    def call(
        self, inputs: Sequence[EvalValue], site: tuple[Any, ...], *, constant: bool
    ) -> tuple[Call, Sequence[str | None]]:
        """The graph declares every type."""
        return replace(self.base, site=site, constant=constant), self.dtypes

    def operands(
        self, inputs: Sequence[EvalValue], view: View, noise: NoiseSource
    ) -> Sequence[Any]:
        """TensorFlow takes declared types as they are, halves too."""
        if view is DECLARED:
            return [_narrow(value) for value in inputs]
        return [view(value) for value in inputs]

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """In float64, by our kernel or by TensorFlow's."""
        results: tuple[Any, ...] = self.wide(call, *arrays)
        return results

    def compute_declared(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By TensorFlow itself."""
        results: tuple[Any, ...] = self.declared(call, *arrays)
        return results

    def unit(self, dtype: str | None) -> float:
        """The unit roundoff of the coarsest kernel that TensorFlow may take."""
        return arithmetic_unit_of(self.op, dtype)

    def storage_steps(self, dtype: str | None) -> float:
        """Two where TensorFlow cuts off the digits that a half does not hold."""
        return storage_steps(self.op, dtype)

    def failed(self, error: Exception, scope: Scope) -> RuntimeFailedError:
        """The first line of TensorFlow's message."""
        return failed(scope.prefix + self.name, self.op, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class TfBody:
    """A graph or the body of a loop or branch."""

    program: TfProgram
    steps: tuple[TfStep, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: WeightCache[Key]

    def stored(self, key: str, executor: Executor, scope: Scope) -> EvalValue | None:
        """The constant of this name."""
        if key not in self.program.constants:
            return None
        return self.weights.value((self.program.name, key))

    def name(self, key: str, scope: Scope) -> str:
        """The name of a tensor with the bodies around it."""
        return scope.prefix + key


class Compiler:
    """Makes the steps of a program and, when they are first entered, of its bodies."""

    def __init__(self) -> None:
        self.weights: WeightCache[Key] = WeightCache(self._constant)
        self._bodies: dict[str, TfBody] = {}

    def body(self, program: TfProgram) -> TfBody:
        """The graph or body, made once."""
        if program.name not in self._bodies:
            self._bodies[program.name] = TfBody(
                program=program,
                steps=tuple(self._step(program, *each) for each in enumerate(program.nodes)),
                inputs=tuple(port.tensor for port in program.inputs),
                outputs=tuple(port.tensor for port in program.outputs),
                weights=self.weights,
            )
        return self._bodies[program.name]

    def _constant(self, key: Key) -> EvalValue:
        program = self._bodies[key[0]].program
        dtype = program.specs.get(key[1], Spec()).dtype
        return EvalValue(program.constants[key[1]], dtype=dtype, constant=True)

    def _step(self, program: TfProgram, index: int, node: TfNode) -> TfStep:
        inputs, outputs = dtypes_of(program, node.inputs), dtypes_of(program, node.outputs)
        floats = [dtype for dtype in (*inputs, *outputs) if is_float(dtype)]
        floats += [_COMPLEX[dtype] for dtype in inputs if dtype in _COMPLEX]
        rule = RULES.get(node.op)
        listed = node.op in LISTS
        computed = rule is None and node.op not in PASSES
        narrow = computed and not listed and narrow_only(program, node)
        wide = computed and not listed and works_in_floats(program, node) and not narrow
        declared: Kernel = computed_list if listed else moved_as_declared
        return TfStep(
            index=index,
            name=node.name,
            op=node.op,
            inputs=node.inputs,
            outputs=node.outputs,
            attributes=node.attributes,
            rule=rule,
            passes=node.op in PASSES,
            shape_only=node.op in SHAPE_ONLY,
            discrete=listed or node.op in DISCRETE,
            exact=rounds_nothing(node.op),
            random=node.op in RANDOM,
            narrow=narrow,
            disturbable=any(map(is_inexact_number, node.attributes.values())),
            node=node,
            base=Call(
                op=node.op,
                attributes=node.attributes,
                outputs=len(node.outputs),
                dtype=floats[0] if floats else None,
                input_dtypes=inputs,
            ),
            dtypes=outputs,
            wide=computed_by(node.op) if wide else declared,
            declared=declared,
            body=lambda key: self.body(program.functions[node.functions[key]]),
        )


def _narrow(value: EvalValue) -> Any:  # noqa: ANN401
    """A value in its declared type, whatever width it is held in."""
    if isinstance(value.data, np.ndarray) and is_inexact(value.dtype):
        return value.data.astype(numpy_dtype(str(value.dtype)), copy=False)
    return value.data

"""Nodes of ONNX for the float64 executor: kernels, functions, bodies and their declared types."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frameworks.onnx.declared_types import declared_outputs
from isomorph.frameworks.onnx.op_facts import KEPT_AS_DECLARED
from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.kernel_step import LOOK_UPS, KernelStep
from isomorph.oracle.rounding_rules import own_noise
from isomorph.oracle.step import WIDE, Scope, View, as_results
from isomorph.oracle.value import ABSENT, EvalValue, element_type

if TYPE_CHECKING:
    import onnx

    from isomorph.frameworks.onnx.reference_ops import ReferenceNode
    from isomorph.frameworks.onnx.typed_functions import InputType
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.noise import Array, NoiseSource
    from isomorph.oracle.step import Read
    from isomorph.oracle.stored_matrix import StoredMatrix

_PRODUCTS = frozenset({"MatMul", "Gemm"})
_WEIGHTS = {"MatMulNBits": (1, 2, 3, 4), "MatMulInteger": (1, 3), "ConvInteger": (1, 3)}
"""Inputs of which a kernel makes its weights (``Call.of_weights``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxStep(KernelStep):
    """One node. Exactly one of ``kernel``, ``reference``, ``program``, ``expand``, ``bodies``."""

    reference: ReferenceNode | None = None
    program: Program | None = None
    expand: Callable[[Sequence[InputType]], Program] | None = None
    bodies: Mapping[str, Program] = field(default_factory=dict)

    def output_types(self, dtypes: Sequence[str | None]) -> Sequence[str | None]:
        """Those of the outputs follow from those of the inputs."""
        return declared_outputs(self, tuple(dtypes))

    def table(self, inputs: Sequence[EvalValue]) -> Array | None:
        """The stored integers that the node looks up; None where it looks up none."""
        held = inputs[0] if self.op in LOOK_UPS else ABSENT
        integers = held.constant and getattr(held.data, "dtype", np.dtype(float)).kind in "iu"
        return held.data if integers else None

    def operands(
        self, inputs: Sequence[EvalValue], view: View, noise: NoiseSource
    ) -> Sequence[Any]:
        """Sizes stay as declared on data; tables and large matrices are not lifted whole."""
        if view is WIDE and self.multiplies and self.factors(inputs) is not None:
            return [
                value.matrix() if place == 1 else view(value) for place, value in enumerate(inputs)
            ]
        particular = self.op in LOOK_UPS or self.op in KEPT_AS_DECLARED
        if not particular or view is not WIDE or all(value.constant for value in inputs):
            return [view(value) for value in inputs]
        return [self._consumed(place, value) for place, value in enumerate(inputs)]

    @property
    def weight_places(self) -> tuple[int, ...]:
        """Those of a product with packed or quantized weights."""
        return _WEIGHTS.get(self.op, ()) if self.kernel is not None else ()

    @property
    def multiplies(self) -> bool:
        """Whether it is a product by our kernel."""
        return self.op in _PRODUCTS and not self.domain and self.kernel is not None

    def factors(self, inputs: Sequence[EvalValue]) -> tuple[Array, StoredMatrix] | None:
        """Of a product by our kernel with a matrix that is lifted in blocks."""
        if not self.multiplies or inputs[0].constant:
            return None
        matrix = inputs[1].matrix()
        if matrix is None or self.attributes.get("transA"):
            return None
        left, right = inputs[0].wide(), matrix.T if self.attributes.get("transB") else matrix
        return (left, right) if right.multiplies(left) else None

    def _consumed(self, place: int, value: EvalValue) -> Any:  # noqa: ANN401
        if place in KEPT_AS_DECLARED.get(self.op, ()) and is_float(value.dtype):
            return np.asarray(value.data).astype(numpy_dtype(str(value.dtype)))
        if place == 0 and self.op in LOOK_UPS and value.constant and not value.shifted:
            # A table is looked up as it is stored, and what was found is lifted: lifting the
            # whole of it would take three times its memory.
            return value.data
        return value.wide()

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By our kernel, or by the reference evaluator of the ``onnx`` package."""
        if self.kernel is not None:
            return as_results(self.kernel(call, *arrays))
        if self.exact or not call.noise.active:
            return self._refer(call, arrays)
        # The reference evaluator's inner steps are out of reach: one rounding before, one after.
        results = self._refer(call, [own_noise(array, call.noise) for array in arrays])
        return tuple(own_noise(result, call.noise) for result in results)

    def _refer(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        changed = call.attributes if call.attributes is not self.attributes else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.reference(arrays, changed) if self.reference is not None else ()
        return as_results(found)

    def tag(self, result: Any, declared: str | None) -> str | None:  # noqa: ANN401
        """The declared type, unless the result is of a kind that it does not describe."""
        own = element_type(result)
        if declared is not None and not is_float(declared):
            return declared
        return declared if declared is not None and (own is None or is_float(own)) else own

    def place(self, scope: Scope) -> str:
        """Its name with its operator."""
        return f"{self.name} ({self.domain or 'ai.onnx'}::{self.op})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The steps of one graph, body or function, in order."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[OnnxStep, ...]
    initializers: Mapping[str, EvalValue] = field(default_factory=dict)
    declared: Mapping[str, onnx.TypeProto] = field(default_factory=dict)

    @property
    def captured(self) -> tuple[str, ...]:
        """What it reads from the graphs around it."""
        own = {*self.inputs, *self.initializers}
        outside: dict[str, None] = {}
        for step in self.steps:
            outside.update((name, None) for name in step.needs if name not in own)
            own.update(step.outputs)
        outside.update((name, None) for name in self.outputs if name and name not in own)
        return tuple(outside)

    def stored(self, key: str, executor: Executor, scope: Scope) -> EvalValue | None:
        """The initializer of this name, if the body has one."""
        return self.initializers.get(key)

    def name(self, key: str, scope: Scope) -> str:
        """The name itself."""
        return key


def call_function(
    executor: Executor, step: OnnxStep, inputs: list[EvalValue], read: Read, scope: Scope
) -> list[EvalValue]:
    """The outputs of a node that a function of the model or of the operator's definition states."""
    program = step.program
    if step.expand is not None:
        program = step.expand([(value.dtype, _shape(value)) for value in inputs])
    if program is None:
        raise LookupError(f"{step.name} has no function")
    given = dict.fromkeys(program.inputs, ABSENT)
    # A call may leave optional inputs out.
    given.update(zip(program.inputs, inputs, strict=False))
    return executor.body(program, given, scope.inside(step.index))


def _shape(value: EvalValue) -> tuple[int, ...] | None:
    return value.data.shape if isinstance(value.data, np.ndarray) else None

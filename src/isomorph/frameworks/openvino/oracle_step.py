"""Nodes of OpenVINO for the float64 executor: kernels, bodies and their declared types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.oracle.call import Call, Kernel
from isomorph.oracle.dtypes import is_float
from isomorph.oracle.step import WIDE, Scope, Step, View, as_results
from isomorph.oracle.value import EvalValue

if TYPE_CHECKING:
    from isomorph.frameworks.openvino.program import Body
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.noise import Array, NoiseSource
    from isomorph.oracle.weights import WeightCache

_LOOK_UPS = frozenset({"Gather", "GatherElements", "GatherND"})


@dataclass(frozen=True, slots=True, kw_only=True)
class IrStep(Step[str]):
    """One node; ``declared`` are the types of its outputs, and ``bodies`` what it runs."""

    kernel: Kernel | None
    declared: tuple[str | None, ...]
    domain: str
    version: int
    bodies: Mapping[str, Part] = field(default_factory=dict)

    def call(
        self, inputs: Sequence[EvalValue], site: tuple[Any, ...], *, constant: bool
    ) -> tuple[Call, Sequence[str | None]]:
        """The file declares every type."""
        dtypes = tuple(value.dtype for value in inputs)
        floats = [dtype for dtype in (*dtypes, *self.declared) if is_float(dtype)]
        call = Call(
            op=self.op,
            domain=self.domain,
            version=self.version,
            attributes=self.attributes,
            outputs=len(self.outputs),
            dtype=floats[0] if floats else None,
            constant=constant,
            input_dtypes=dtypes,
            site=site,
        )
        return call, self.declared

    def operands(
        self, inputs: Sequence[EvalValue], view: View, noise: NoiseSource
    ) -> Sequence[Any]:
        """A table that is looked up is not lifted whole."""
        table = inputs[0] if self.op in _LOOK_UPS and view is WIDE else None
        if table is None or not table.constant or table.shifted:
            return [view(value) for value in inputs]
        return [table.data, *(view(value) for value in inputs[1:])]

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By our kernel; whole numbers in the type that is declared."""
        assert self.kernel is not None, "a step without a kernel has a rule"
        results = as_results(self.kernel(call, *arrays))
        pairs = zip(results, self.declared, strict=False)
        return tuple(_declared(result, dtype) for result, dtype in pairs)


def _declared(result: Any, dtype: str | None) -> Any:  # noqa: ANN401
    array = np.asarray(result)
    if dtype is None or is_float(dtype) or dtype == "string" or array.dtype.kind not in "iub":
        return array
    return array.astype(dtype, copy=False) if array.dtype.name != dtype else array


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A body: its steps in order, its constants, and how it is connected."""

    body: Body
    name_of: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[IrStep, ...]
    stored_names: frozenset[str]
    weights: WeightCache[str]

    def stored(self, key: str, executor: Executor, scope: Scope) -> EvalValue | None:
        """The constant of this name, if the body has one."""
        return self.weights.value(key) if key in self.stored_names else None

    def name(self, key: str, scope: Scope) -> str:
        """The name itself."""
        return key


def wide(value: EvalValue) -> Array:
    """The numbers of a value as a node on data takes them."""
    return np.asarray(value.wide())

"""Graphs of files that declare the type of every tensor: their nodes, their bodies, what is fed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from isomorph.oracle.call import Call
from isomorph.oracle.dtypes import is_float, numpy_dtype
from isomorph.oracle.evaluator import own_constant, words_as_objects
from isomorph.oracle.kernel_step import LOOK_UPS, KernelStep
from isomorph.oracle.named_graph import NamedGraph, same_in_every_run
from isomorph.oracle.step import WIDE, Scope, Step, View, as_results
from isomorph.oracle.unsupported import refuse_undefined
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import WeightCache

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.executor import Executor
    from isomorph.oracle.noise import NoiseSource

S = TypeVar("S", bound=Step[str])
D = TypeVar("D", bound="DeclaredStep")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredStep(KernelStep):
    """One node with a kernel, or with a rule; ``declared`` are the types of its outputs.

    ``bodies`` are the graphs that it runs inside, of the kind of ``NamedBody``. ``native`` is how
    an error names its operator where it has no kernel.
    """

    declared: tuple[str | None, ...]
    bodies: Mapping[str, Any] = field(default_factory=dict)
    native: str = ""

    def output_types(self, dtypes: Sequence[str | None]) -> Sequence[str | None]:
        """The file declares every type."""
        return self.declared

    def operands(
        self, inputs: Sequence[EvalValue], view: View, noise: NoiseSource
    ) -> Sequence[Any]:
        """A table that is looked up is not lifted whole."""
        table = inputs[0] if self.op in LOOK_UPS and view is WIDE else None
        if table is None or not table.constant or table.shifted:
            return [view(value) for value in inputs]
        return [table.data, *(view(value) for value in inputs[1:])]

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By the kernel."""
        if self.kernel is None:
            raise LookupError(f"{self.name} has no kernel")
        return as_declared(as_results(self.kernel(call, *arrays)), self.declared)


def as_declared(results: Sequence[Any], declared: Sequence[str | None]) -> tuple[Any, ...]:
    """Results with integers in the types that the file declares: kernels return int64."""
    pairs = zip(results, declared, strict=False)
    return tuple(_as_declared(result, dtype) for result, dtype in pairs)


def _as_declared(result: Any, dtype: str | None) -> Any:  # noqa: ANN401
    array = np.asarray(result)
    if dtype is None or is_float(dtype) or dtype == "string" or array.dtype.kind not in "iub":
        return array
    return array.astype(numpy_dtype(dtype), copy=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBody(Generic[S]):
    """A graph inside a node: its steps in order, and the constants that it holds."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[S, ...]
    own_constants: Collection[str]
    weights: WeightCache[str]

    def stored(self, key: str, executor: Executor, scope: Scope) -> EvalValue | None:
        """The constant of this name, if the body has one."""
        return self.weights.value(key) if key in self.own_constants else None

    def name(self, key: str, scope: Scope) -> str:
        """The name itself."""
        return key


def evaluable(steps: Sequence[D], *, file: str | None, why: str, fix: str) -> Sequence[D]:
    """The steps, where each has a kernel or a rule, those inside bodies too; else an error."""
    missing: dict[str, list[str]] = {}
    for step in _every_step(steps):
        if step.kernel is None and step.rule is None and not step.passes:
            missing.setdefault(step.native or step.op, []).append(step.name)
    refuse_undefined(missing, file=file, why=why, fix=fix)
    return steps


def _every_step(steps: Sequence[DeclaredStep]) -> Iterator[DeclaredStep]:
    for step in steps:
        yield step
        for body in step.bodies.values():
            yield from _every_step(body.steps)


class DeclaredGraph(NamedGraph):
    """A main graph; ``types`` are what its tensors declare."""

    def __init__(
        self,
        steps: Sequence[Step[str]],
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        types: Mapping[str, str | None],
        stored: Collection[str],
        weights: WeightCache[Any],
        folds: Callable[[Step[str], Container[str]], bool] = same_in_every_run,
    ) -> None:
        super().__init__(steps, inputs, outputs, stored=stored, weights=weights, folds=folds)
        self._types = types

    def is_constant(self, key: str) -> bool:
        """Whether a tensor has the same value in every run."""
        return key in self.folded.names

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        """A fed array: as the constant that it is, or as data."""
        array, declared = words_as_objects(np.asarray(value)), self._types.get(key)
        constant = self.is_constant(key)
        if is_float(declared) and array.dtype.kind in "fV":
            own = own_constant(array, str(declared)) if constant else None
            return EvalValue(lifted(array), dtype=declared) if own is None else own
        return EvalValue(array if constant else lifted(array), dtype=declared, constant=constant)

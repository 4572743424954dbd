"""The float64 oracle: each operator is a kernel that isomorph has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import UnreadableModelError
from isomorph.kernels import registry
from isomorph.oracle.call import Call
from isomorph.oracle.evaluator import Evaluator
from isomorph.oracle.plan import Planner, constant_tensors, unknown_tensor
from isomorph.oracle.session import OracleSession
from isomorph.oracle.step import Scope, Step, as_results
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import FoldedConstants, WeightCache
from toy_framework.program import OPERATORS, ToyProgram

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Environment, Noise
    from isomorph.oracle.executor import Executor

ONNX_VERSION = 14
"""Of the operators whose kernels are used."""


class ToyOracle:
    """Evaluates toy models in float64."""

    name = "toy_oracle"
    extra: str | None = None
    worker = "toy_oracle"
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Toy models."""
        return model.framework == "toy"

    def open(self, model: Model, environment: Environment) -> OracleSession:
        """Find a kernel for every operator."""
        registry.load_all()
        return OracleSession(
            Evaluator(ToyGraph(model.native)),
            replace(environment, version="1", device="cpu", precision="float64"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyStep(Step[str]):
    """One operator, computed by a kernel of ONNX."""

    def call(
        self, inputs: Sequence[EvalValue], site: tuple[Any, ...], *, constant: bool
    ) -> tuple[Call, Sequence[str | None]]:
        """Every tensor is float32."""
        return Call(op=self.op, dtype="float32", constant=constant, site=site), ("float32",)

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By the kernel, with the noise of the call."""
        kernel = registry.find("", self.op, ONNX_VERSION)
        if kernel is None:
            raise LookupError(f"{self.op} has no kernel")
        return as_results(kernel(call, *arrays))


class ToyGraph:
    """The nodes as steps, and the weights as constants."""

    def __init__(self, program: ToyProgram) -> None:
        for node in program.nodes:
            if node.op not in OPERATORS:
                raise UnreadableModelError(
                    "UNSUPPORTED_OP", f"the oracle has no {node.op}", where=node.name
                )
        self.steps = tuple(
            ToyStep(
                index=index,
                name=node.name,
                op=OPERATORS[node.op],
                inputs=node.inputs,
                outputs=(node.output,),
                attributes={},
                exact=node.op == "ramp",
            )
            for index, node in enumerate(program.nodes)
        )
        self.outputs = program.outputs
        self._known = {*program.inputs, *program.weights, *(n.output for n in program.nodes)}
        self._stored = program.weights
        self._weights = WeightCache(lambda key: EvalValue(program.weights[key], constant=True))
        self.planner: Planner[str, Step[str]] = Planner(
            self.steps, tuple(program.inputs), tuple(program.weights)
        )
        self.folded: FoldedConstants[str] = FoldedConstants(
            constant_tensors(
                self.steps, program.weights, lambda step, known: all(k in known for k in step.needs)
            )
        )

    def find(self, name: str) -> str:
        """Tensors are known by their names."""
        if name not in self._known:
            raise unknown_tensor(name, self._known)
        return name

    def name(self, key: str) -> str:
        """The same."""
        return key

    def is_stored(self, key: str) -> bool:
        """Weights."""
        return key in self._stored

    def stored(self, key: str, executor: Executor, scope: Scope) -> EvalValue | None:
        """A weight, disturbed where the noise asks for it."""
        if key not in self._stored:
            return None
        return executor.arithmetic.stored(key, self._weights.value(key))

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:
        """Fed arrays are data."""
        return EvalValue(lifted(np.asarray(value)), dtype="float32")

    def shown(self, key: str, value: EvalValue) -> Any:
        """In float64."""
        return value.wide()

    def clear(self) -> None:
        """Release the lifted weights."""
        self._weights.clear()

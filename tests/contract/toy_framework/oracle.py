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
from isomorph.oracle.named_graph import NamedGraph
from isomorph.oracle.session import OracleSession
from isomorph.oracle.step import Step, as_results
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import WeightCache
from toy_framework.program import OPERATORS, ToyProgram

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Environment, Noise

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


class ToyGraph(NamedGraph):
    """The nodes as steps, and the weights as constants."""

    def __init__(self, program: ToyProgram) -> None:
        for node in program.nodes:
            if node.op not in OPERATORS:
                raise UnreadableModelError(
                    "UNSUPPORTED_OP", f"the oracle has no {node.op}", where=node.name
                )
        steps = tuple(
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
        weights: WeightCache[str] = WeightCache(
            lambda key: EvalValue(program.weights[key], constant=True)
        )
        super().__init__(
            steps,
            tuple(program.inputs),
            program.outputs,
            stored=program.weights,
            weights=weights,
        )

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:
        """Fed arrays are data."""
        return EvalValue(lifted(np.asarray(value)), dtype="float32")

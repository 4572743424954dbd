"""The smallest op table for the shared oracle: a few operators on named tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isomorph.core.trace import Noise
from isomorph.oracle.call import Call
from isomorph.oracle.executor import Executor
from isomorph.oracle.plan import Planner, constant_tensors
from isomorph.oracle.step import Scope, Step
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import FoldedConstants, WeightCache

OPS: dict[str, Callable[..., Any]] = {
    "add": lambda call, a, b: call.noise.rounded(np.asarray(a + b)),
    "third": lambda call, a: call.noise.rounded(np.asarray(a / np.asarray(3, a.dtype))),
    "scale": lambda call, a: np.asarray(a * call.attributes["factor"]),
    "fail": lambda call, a: np.zeros(2) + np.zeros(3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyStep(Step[str]):
    """One operator out of ``OPS``; ``computed`` counts how often it ran."""

    computed: list[str]

    def call(
        self, inputs: Sequence[EvalValue], site: tuple[Any, ...], *, constant: bool
    ) -> tuple[Call, Sequence[str | None]]:
        """Every tensor is float32."""
        call = Call(
            op=self.op, attributes=self.attributes, dtype="float32", site=site, constant=constant
        )
        return call, ["float32"]

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By the table."""
        self.computed.append(self.name)
        return (OPS[self.op](call, *arrays),)


class ToyGraph:
    """Steps ``(op, inputs, output)`` in order, with stored float32 tensors."""

    def __init__(
        self,
        steps: Sequence[tuple[str, Sequence[str], str]],
        stored: Mapping[str, Any],
        outputs: Sequence[str] = (),
        rules: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        self.computed: list[str] = []
        self._stored = {name: np.asarray(value, np.float32) for name, value in stored.items()}
        self.outputs = tuple(outputs)
        self.steps = tuple(
            ToyStep(
                index=index,
                name=f"{op}:{index}",
                op=op,
                inputs=tuple(inputs),
                outputs=(output,),
                attributes=attributes,
                rule=(rules or {}).get(op),
                disturbable=bool(attributes),
                computed=self.computed,
            )
            for index, (op, inputs, output) in enumerate(steps)
        )
        self.weights: WeightCache[str] = WeightCache(
            lambda name: EvalValue(self._stored[name], constant=True)
        )
        self.planner: Planner[str, Step[str]] = Planner(self.steps, ("x",), self._stored)
        self.folded = FoldedConstants(
            constant_tensors(
                self.steps, self._stored, lambda step, known: all(n in known for n in step.needs)
            )
        )

    def find(self, name: str) -> str:
        """The name."""
        return name

    def name(self, key: str) -> str:
        """The name."""
        return key

    def is_stored(self, key: str) -> bool:
        """Whether it is stored."""
        return key in self._stored

    def stored(self, key: str, executor: Executor, scope: Scope) -> EvalValue | None:
        """The stored tensor."""
        if key not in self._stored:
            return None
        return executor.arithmetic.stored(key, self.weights.value(key))

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:
        """As data."""
        return EvalValue(lifted(np.asarray(value)), dtype="float32")

    def shown(self, key: str, value: EvalValue) -> Any:
        """In float64."""
        return value.wide()

    def clear(self) -> None:
        """Release everything."""
        self.weights.clear()
        self.folded.clear()
        self.planner.clear()

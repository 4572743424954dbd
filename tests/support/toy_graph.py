"""The smallest op table for the shared oracle: a few operators on named tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isomorph.core.trace import Noise
from isomorph.kernels.matmul import product
from isomorph.oracle.call import Call
from isomorph.oracle.named_graph import NamedGraph
from isomorph.oracle.step import Step
from isomorph.oracle.value import EvalValue, lifted
from isomorph.oracle.weights import WeightCache

OPS: dict[str, Callable[..., Any]] = {
    "add": lambda call, a, b: call.noise.rounded(np.asarray(a + b)),
    "third": lambda call, a: call.noise.rounded(np.asarray(a / np.asarray(3, a.dtype))),
    "scale": lambda call, a: np.asarray(a * call.attributes["factor"]),
    "product": lambda call, a, b: product(a, b, call.noise),
    "turned": lambda call, a: a.T,
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

    @property
    def multiplies(self) -> bool:
        """Whether it is the product."""
        return self.op == "product"

    def factors(self, inputs: Sequence[EvalValue]) -> tuple[Any, Any] | None:
        """Of a product with a matrix that is lifted in blocks."""
        matrix = inputs[1].matrix() if self.multiplies else None
        return None if matrix is None else (inputs[0].wide(), matrix)

    def operands(self, inputs: Sequence[EvalValue], view: Any, noise: Any) -> Sequence[Any]:
        """As they are, but for such a matrix."""
        factors = self.factors(inputs)
        return Step.operands(self, inputs, view, noise) if factors is None else factors

    def compute(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """By the table."""
        self.computed.append(self.name)
        return (OPS[self.op](call, *arrays),)


class ToyGraph(NamedGraph):
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
        arrays = {name: np.asarray(value, np.float32) for name, value in stored.items()}
        made = tuple(
            ToyStep(
                index=index,
                name=f"{op}:{index}",
                op=op,
                inputs=tuple(inputs),
                outputs=(output,),
                attributes=attributes,
                rule=(rules or {}).get(op),
                disturbable=bool(attributes),
                exact=op == "turned",
                computed=self.computed,
            )
            for index, (op, inputs, output) in enumerate(steps)
        )
        weights: WeightCache[str] = WeightCache(lambda name: EvalValue(arrays[name], constant=True))
        super().__init__(made, ("x",), outputs, stored=arrays, weights=weights)

    def fed(self, key: str, value: Any, noise: Noise | None) -> EvalValue:
        """As data."""
        return EvalValue(lifted(np.asarray(value)), dtype="float32")

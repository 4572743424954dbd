"""The deployed runtime: NumPy in float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import UnreadableModelError
from isomorph.core.last_node import leave
from isomorph.core.trace import Capabilities, Environment, Noise

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Arrays
    from toy_framework.program import ToyProgram

KERNELS = {
    "add": np.add,
    "multiply": np.multiply,
    "product": np.matmul,
    "ramp": lambda x: np.maximum(x, np.float32(0)),
}


class ToyRuntime:
    """Runs toy models in float32."""

    name = "toy"
    extra: str | None = None
    worker = "toy"
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Toy models."""
        return model.framework == "toy"

    def open(self, model: Model, environment: Environment) -> ToySession:
        """Refuse an unknown operator by its name."""
        program: ToyProgram = model.native
        for node in program.nodes:
            if node.op not in KERNELS:
                raise UnreadableModelError(
                    "UNSUPPORTED_OP", f"the runtime has no {node.op}", where=node.name
                )
        return ToySession(program, replace(environment, version="1", device="cpu"))


class ToySession:
    """One opened model, fed and fetched at any tensor."""

    capabilities = Capabilities(fetch="all", feed="all")

    def __init__(self, program: ToyProgram, environment: Environment) -> None:
        self.environment = environment
        self._program = program

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch``; what is fed is not computed."""
        values: dict[str, Any] = {**self._program.weights, **feeds}
        for node in self._program.nodes:
            if node.output not in values and all(name in values for name in node.inputs):
                leave(node.name)
                values[node.output] = KERNELS[node.op](*(values[name] for name in node.inputs))
        return {name: np.array(values[name]) for name in fetch}

    def close(self) -> None:
        """Nothing is held."""

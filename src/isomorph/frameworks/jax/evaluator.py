"""StableHLO programs for the float64 oracle, fed and fetched at any tensor of the main function."""

from __future__ import annotations

from isomorph.frameworks.jax.eval_steps import compiled, stored_value
from isomorph.frameworks.jax.program import JaxProgram
from isomorph.oracle.declared_graph import DeclaredGraph
from isomorph.oracle.weights import WeightCache


class JaxGraph(DeclaredGraph):
    """The operations as steps, and the constants of the module."""

    def __init__(self, program: JaxProgram, *, file: str | None = None) -> None:
        weights: WeightCache[str] = WeightCache(lambda key: stored_value(program, key))
        super().__init__(
            compiled(program, weights, file=file),
            program.inputs,
            program.outputs,
            types={name: tensor.dtype for name, tensor in program.tensors.items()},
            stored=program.stored,
            weights=weights,
        )

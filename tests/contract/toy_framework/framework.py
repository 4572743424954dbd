"""Reads, describes and writes toy models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isomorph.core.digest import constant_of
from isomorph.core.errors import UsageError
from isomorph.core.model import Graph, Model, Node, TensorSpec
from isomorph.core.operator_tables import NO_TABLES
from toy_framework.program import OPERATORS, SIGNATURE, ToyProgram, read, write


class ToyFramework:
    """Files whose first bytes are the signature."""

    name = "toy"
    extra: str | None = None
    runtime = "toy"
    oracle = "toy_oracle"
    keeps_metadata = False
    operator_tables = NO_TABLES

    def sniff(self, path: Path, head: bytes) -> bool:
        """By content; a file may have any name."""
        return head.startswith(SIGNATURE)

    def claims(self, source: Any) -> bool:
        """Programs in memory."""
        return isinstance(source, ToyProgram)

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:
        """Write a program in memory for a worker to load."""
        path = folder / "model.toy"
        write(source, path)
        return path

    def load(self, source: Any, options: Mapping[str, str]) -> Model:
        """Read and describe a file."""
        if not isinstance(source, (str, Path)):
            raise UsageError("UNSUPPORTED_SOURCE", "framework 'toy' reads files")
        program, digest = read(Path(source))
        return Model(
            framework=self.name,
            location=str(source),
            digest=digest,
            graph=described(program),
            native=program,
        )

    def save(self, model: Model, path: Path) -> None:
        """Write a copy."""
        write(model.native, path)


def described(program: ToyProgram) -> Graph:
    """The neutral description: names, types and what identifies each constant."""
    inputs = {name: _spec(name, shape) for name, shape in program.inputs.items()}
    made = {node.output: _spec(node.output, None) for node in program.nodes}
    return Graph(
        name="toy",
        inputs=tuple(inputs.values()),
        outputs=tuple({**inputs, **made}[name] for name in program.outputs),
        nodes=tuple(
            Node(
                name=node.name,
                op=OPERATORS.get(node.op, node.op),
                native_op=node.op,
                inputs=node.inputs,
                outputs=(node.output,),
            )
            for node in program.nodes
        ),
        tensors={**inputs, **made},
        constants={name: constant_of(name, value) for name, value in program.weights.items()},
        framework="toy",
    )


def _spec(name: str, shape: tuple[int, ...] | None) -> TensorSpec:
    return TensorSpec(name=name, dtype="float32", shape=shape)

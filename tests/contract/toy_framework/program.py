"""The file format: one JSON object with inputs, weights, nodes and outputs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isomorph.core.errors import UnreadableModelError
from isomorph.core.untrusted_json import read_json

SIGNATURE = b'{"toy": 1,'
OPERATORS = {"add": "Add", "multiply": "Mul", "product": "MatMul", "ramp": "Relu"}
"""The framework's operators, and the neutral names of what they compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyNode:
    """One operator with the tensors that it reads and the one that it writes."""

    name: str
    op: str
    inputs: tuple[str, ...]
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyProgram:
    """A model in memory; tensors are float32."""

    inputs: dict[str, tuple[int, ...]]
    weights: dict[str, np.ndarray[Any, Any]]
    nodes: tuple[ToyNode, ...]
    outputs: tuple[str, ...]


def read(path: Path) -> tuple[ToyProgram, str]:
    """The program of a file, and the digest of its bytes."""
    data = path.read_bytes()
    try:
        stored = read_json(data.decode("utf-8"))
        program = ToyProgram(
            inputs={name: tuple(shape) for name, shape in stored["inputs"].items()},
            weights={k: np.asarray(v, np.float32) for k, v in stored["weights"].items()},
            nodes=tuple(
                ToyNode(name=name, op=op, inputs=tuple(inputs), output=output)
                for name, op, inputs, output in stored["nodes"]
            ),
            outputs=tuple(stored["outputs"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableModelError(
            "MODEL_BROKEN", "the toy model cannot be read", file=str(path), why=str(error)
        ) from error
    return program, hashlib.sha256(data).hexdigest()


def write(program: ToyProgram, path: Path) -> None:
    """The program as a file; the signature comes first."""
    stored = {
        "toy": 1,
        "inputs": {name: list(shape) for name, shape in program.inputs.items()},
        "weights": {name: value.tolist() for name, value in program.weights.items()},
        "nodes": [[n.name, n.op, list(n.inputs), n.output] for n in program.nodes],
        "outputs": list(program.outputs),
    }
    path.write_text(json.dumps(stored), encoding="utf-8")

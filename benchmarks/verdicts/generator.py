"""A random graph with inputs, from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from .building import Builder, Refused, without_unread
from .evaluation import is_float
from .kernels import Array
from .more_steps import LAST_STEPS, MORE_STEPS, label
from .rare_steps import RARE_STEPS
from .steps import STEPS, Step, masked

ALL_STEPS: dict[str, Step] = {**STEPS, **MORE_STEPS, **RARE_STEPS}
STEMS = ("rows", "image", "sequence", "tokens")
OFTEN = {"activation": 4, "with_constant": 2, "conv": 3, "pool": 2, "of_two": 2, "matmul": 2}
NAMES = [name for name in ALL_STEPS for _ in range(OFTEN.get(name, 1))]
TRIES = 12


@dataclass(frozen=True)
class Sample:
    """A model and one set of inputs; whole numbers among them are below ``vocabulary``."""

    model: onnx.ModelProto
    inputs: dict[str, Array]
    vocabulary: int = 0


def other_inputs(sample: Sample, rng: np.random.Generator, scale: float = 1.0) -> dict[str, Array]:
    """Inputs of the same sizes that were never seen before."""
    return {
        name: rng.normal(size=value.shape).astype(value.dtype) * value.dtype.type(scale)
        if is_float(value.dtype)
        else rng.integers(0, sample.vocabulary, value.shape).astype(value.dtype)
        for name, value in sample.inputs.items()
    }


def random_model(rng: np.random.Generator, steps: int | None = None) -> Sample:
    """A graph of a few dozen nodes at most; what cannot be built is tried again differently."""
    while True:
        b = Builder(rng)
        vocabulary = int(rng.integers(5, 40))
        try:
            x = _stem(b, vocabulary)
            count = int(rng.integers(1, 9)) if steps is None else steps
            outputs = _outputs(b, _grow(b, x, count))
        except Refused:
            continue
        b.nodes = without_unread(b.nodes, outputs)
        used = {name for node in b.nodes for name in node.input}
        if set(b.inputs) <= used:
            return Sample(b.model(outputs), dict(b.inputs), vocabulary)


def _stem(b: Builder, vocabulary: int) -> str:
    word = b.pick(STEMS)
    batch, size = int(b.rng.integers(1, 4)), int(b.rng.integers(2, 9))
    if word == "tokens":
        shape = (batch, int(b.rng.integers(2, 6)))
        tokens = b.input(b.rng.integers(0, vocabulary, shape).astype(np.int64))
        return b.add("Gather", [b.normal(vocabulary, size), tokens], axis=0)
    shape = {
        "rows": (batch, size),
        "image": (batch, int(b.rng.integers(1, 5)), *(int(n) for n in b.rng.integers(4, 8, 2))),
        "sequence": (batch, int(b.rng.integers(2, 6)), size),
    }[word]
    if word == "rows" and b.rng.random() < 0.2:
        # Whole numbers: sums are exact, ties are common.
        return b.input(b.rng.integers(-9, 10, shape).astype(np.float32))
    return b.input(b.rng.normal(size=shape).astype(np.float32))


def _grow(b: Builder, x: str, count: int) -> list[str]:
    """Every float tensor that was made, the latest last."""
    made = [x]
    while len(made) <= count:
        for _ in range(TRIES):
            source = made[-1] if b.rng.random() < 0.8 else b.pick(made)
            before = len(b.nodes)
            try:
                result = ALL_STEPS[b.pick(NAMES)](b, source)
            except Refused:
                del b.nodes[before:]
                continue
            if np.all(np.isfinite(b.values[result].astype(np.float64))):
                made.append(result)
                break
            del b.nodes[before:]
        else:
            raise Refused
    return made


def _outputs(b: Builder, made: list[str]) -> list[str]:
    outputs = [made[-1]]
    if b.rng.random() < 0.25:
        outputs.append(b.pick(made[1:]) if len(made) > 1 else made[0])
    if b.rng.random() < 0.25:
        outputs.append(label(b, b.pick(made[1:])))
    if b.rng.random() < 0.12:
        step = b.pick([*LAST_STEPS.values(), masked])
        outputs[0] = step(b, outputs[0])
    outputs = list(dict.fromkeys(outputs))
    if set(outputs) & set(b.inputs):
        raise Refused
    return outputs

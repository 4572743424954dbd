"""What must not change an answer: the seed, names, company, the other samples of a test set."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .generator import other_inputs
from .kernels import Array
from .naming import renamed
from .pairs import Pair
from .scoring import answer
from .truth import Expected

SAMPLES = 40


def hold(pair: Pair, truth: Expected, said: str) -> dict[str, str]:
    """``kept`` for every invariant that holds, otherwise the other answer."""
    rng = np.random.default_rng(pair.seed + 3)
    inputs = pair.sample.inputs
    seen = {
        "seed": answer(pair.reference, pair.candidate, inputs=inputs, locate=False, seed=1)[0],
        "renamed": _renamed(pair, rng),
        "large neighbor": _with_company(pair, 1e8),
    }
    if truth.group == "mutated":
        seen |= _in_test_sets(pair, rng)
    return {name: "kept" if word == said else word for name, word in seen.items()}


def _renamed(pair: Pair, rng: np.random.Generator) -> str:
    sides = [renamed(model, rng)[0] for model in (pair.reference, pair.candidate)]
    return answer(*sides, inputs=pair.sample.inputs, locate=False)[0]


def _with_company(pair: Pair, factor: float) -> str:
    """The same pair with one more output that is right, and large."""
    sides = [with_output(model, factor) for model in (pair.reference, pair.candidate)]
    return answer(*sides, inputs=pair.sample.inputs, locate=False)[0]


def with_output(model: onnx.ModelProto, factor: float) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph, source = copy.graph, copy.graph.input[0]
    name = source.name
    if source.type.tensor_type.elem_type != TensorProto.FLOAT:
        graph.node.append(
            helper.make_node(
                "Cast", [name], ["company_float"], "company_cast", to=TensorProto.FLOAT
            )
        )
        name = "company_float"
    graph.initializer.append(numpy_helper.from_array(np.float32(factor), "company_factor"))
    graph.node.append(helper.make_node("Mul", [name, "company_factor"], ["company"], "company_mul"))
    shape = [dim.dim_value for dim in source.type.tensor_type.shape.dim]
    graph.output.append(helper.make_tensor_value_info("company", TensorProto.FLOAT, shape))
    return copy


def _in_test_sets(pair: Pair, rng: np.random.Generator) -> dict[str, str]:
    """A fault on one sample alone is a fault among forty, in either order."""
    others = [other_inputs(pair.sample, rng) for _ in range(SAMPLES - 1)]
    place = int(rng.integers(SAMPLES))
    samples = [*others[:place], pair.sample.inputs, *others[place:]]
    return {
        "test set": _on(pair, samples),
        "test set backwards": _on(pair, samples[::-1]),
    }


def _on(pair: Pair, samples: list[dict[str, Array]]) -> str:
    joined = {name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, **joined)
        return answer(pair.reference, pair.candidate, data=str(path), locate=False)[0]

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
from .truth import Expected, truth_on

SAMPLES = 40
CLEAN_SAMPLES = 6
NOT_ASKED = "not asked"


def hold(pair: Pair, truth: Expected, answered: str) -> dict[str, str]:
    """``kept`` for every invariant that holds, otherwise the other answer."""
    # A difference that the outputs do not show is searched for together with the node.
    locate = truth.group in {"unreached", "in half"}
    seen = _answers(pair, truth, locate=locate)
    if not locate and any(word not in {answered, NOT_ASKED} for word in seen.values()):
        seen = _answers(pair, truth, locate=True)
    return {
        name: "kept" if word == answered else word
        for name, word in seen.items()
        if word != NOT_ASKED
    }


def _answers(pair: Pair, truth: Expected, *, locate: bool) -> dict[str, str]:
    rng = np.random.default_rng(pair.seed + 3)
    inputs = pair.sample.inputs
    seen = {
        "seed": answer(pair.reference, pair.candidate, inputs=inputs, locate=locate, seed=1)[0],
        "renamed": _renamed(pair, rng, locate=locate),
        "another output": _with_company(pair, 1e8, locate=locate),
        "large neighbor": _beside(pair, truth, 1e8, locate=locate),
    }
    if truth.group == "mutated":
        seen |= _in_test_sets(pair, rng, locate=locate)
    if truth.group == "clean":
        seen |= _on_clean_set(pair, rng, locate=locate)
    return seen


def _renamed(pair: Pair, rng: np.random.Generator, *, locate: bool) -> str:
    sides = [renamed(model, rng)[0] for model in (pair.reference, pair.candidate)]
    return answer(*sides, inputs=pair.sample.inputs, locate=locate)[0]


def _with_company(pair: Pair, factor: float, *, locate: bool) -> str:
    """The same pair with one more output that is right, and large."""
    sides = [with_output(model, factor) for model in (pair.reference, pair.candidate)]
    return answer(*sides, inputs=pair.sample.inputs, locate=locate)[0]


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


def _beside(pair: Pair, truth: Expected, factor: float, *, locate: bool) -> str:
    """The first output joined with numbers that are right, and large."""
    if pair.reference.graph.output[0].type.tensor_type.elem_type != TensorProto.FLOAT:
        return NOT_ASKED
    if truth.truth is not None and truth.truth.why == "another shape":
        return NOT_ASKED  # in one flat tensor the shapes are the same
    sides = [joined(with_output(m, factor)) for m in (pair.reference, pair.candidate)]
    return answer(*sides, inputs=pair.sample.inputs, locate=locate)[0]


def joined(model: onnx.ModelProto) -> onnx.ModelProto:
    """The first output and the last in one flat tensor."""
    graph = model.graph
    first, last = graph.output[0], graph.output[-1]
    sizes = [
        int(np.prod([dim.dim_value for dim in item.type.tensor_type.shape.dim], dtype=int))
        for item in (first, last)
    ]
    flat = numpy_helper.from_array(np.array([-1], np.int64), "company_flat")
    graph.initializer.append(flat)
    for item in (first, last):
        inputs = [item.name, "company_flat"]
        name = f"company_{item.name}_flat"
        graph.node.append(helper.make_node("Reshape", inputs, [name], f"{name}_node"))
    inputs = [f"company_{item.name}_flat" for item in (first, last)]
    graph.node.append(
        helper.make_node("Concat", inputs, ["company_joined"], "company_join", axis=0)
    )
    whole = helper.make_tensor_value_info("company_joined", TensorProto.FLOAT, [sum(sizes)])
    others = list(graph.output)[1:-1]
    del graph.output[:]
    graph.output.extend([whole, *others])
    return model


def _on_clean_set(pair: Pair, rng: np.random.Generator, *, locate: bool) -> dict[str, str]:
    """Faithful on each of a few samples alone, and so on all of them."""
    samples = [other_inputs(pair.sample, rng) for _ in range(CLEAN_SAMPLES)]
    if any(truth_on(pair, sample).kind != "equal" for sample in samples):
        return {}
    return {"test set": _on(pair, samples, locate=locate)}


def _in_test_sets(pair: Pair, rng: np.random.Generator, *, locate: bool) -> dict[str, str]:
    """A fault on one sample alone is a fault among forty, in either order."""
    others = [other_inputs(pair.sample, rng) for _ in range(SAMPLES - 1)]
    place = int(rng.integers(SAMPLES))
    samples = [*others[:place], pair.sample.inputs, *others[place:]]
    return {
        "test set": _on(pair, samples, locate=locate),
        "test set backwards": _on(pair, samples[::-1], locate=locate),
    }


def _on(pair: Pair, samples: list[dict[str, Array]], *, locate: bool) -> str:
    joined = {name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, **joined)
        return answer(pair.reference, pair.candidate, data=str(path), locate=locate)[0]

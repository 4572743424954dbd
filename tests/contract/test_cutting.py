"""A part of a model is a model of its own and computes what the whole computes there."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.subgraph import Piece
from isomorph.core.trace import Environment
from samples import SAMPLES

CARVERS = [
    name for name in registry.names("frameworks") if hasattr(registry.framework(name), "cut")
]


def session(model):
    runtime = registry.runtime(registry.framework(model.framework).oracle)
    return runtime.open(model, Environment(runtime=runtime.name))


@pytest.fixture(params=CARVERS)
def whole(request, tmp_path):
    framework = registry.framework(request.param)
    sample = SAMPLES[request.param](tmp_path)
    return framework, framework.load(str(sample.path), {}), sample.feeds


def middle(model):
    """A tensor half-way, and the float outputs of the graph."""
    made = [name for node in model.graph.nodes for name in node.outputs if name]
    specs = model.graph.tensors
    floats = [name for name in made if name in specs and "float" in (specs[name].dtype or "")]
    outputs = [spec.name for spec in model.graph.outputs if "float" in (spec.dtype or "")]
    return floats[len(floats) // 3], outputs[:1]


def test_all_four_frameworks_can_be_cut():
    assert {"onnx", "pytorch", "tensorflow", "tflite"} <= set(CARVERS)


def test_two_parts_in_a_row_are_the_whole(whole, tmp_path):
    framework, model, feeds = whole
    joint, outputs = middle(model)
    there = session(model).run(feeds, [joint, *outputs])
    declared = model.graph.tensors[joint].dtype
    value = np.asarray(there[joint]).astype(declared)
    first = Piece(feeds=tuple(feeds), fetch=(joint,))
    framework.cut(model, first, feeds, tmp_path / f"first{framework.suffix}")
    head = framework.load(str(tmp_path / f"first{framework.suffix}"), {})
    given = dict(zip([s.name for s in head.graph.inputs], feeds.values(), strict=True))
    [name] = [spec.name for spec in head.graph.outputs]
    alone = session(head).run(given, [name])[name]
    assert np.allclose(alone, there[joint], rtol=1e-9, atol=1e-9)
    assert len(head.graph.nodes) < len(model.graph.nodes)
    # Other ways than through the joint may lead from the inputs to the outputs.
    given = {joint: value, **feeds}
    second = Piece(feeds=tuple(given), fetch=tuple(outputs))
    framework.cut(model, second, given, tmp_path / f"second{framework.suffix}")
    tail = framework.load(str(tmp_path / f"second{framework.suffix}"), {})
    names = [spec.name for spec in tail.graph.outputs]
    taken = dict(zip([s.name for s in tail.graph.inputs], given.values(), strict=True))
    found = session(tail).run(taken, names)
    right = session(model).run({**feeds, joint: value}, outputs)
    for cand, ref in zip(names, outputs, strict=True):
        assert np.allclose(found[cand], right[ref], rtol=1e-9, atol=1e-9)


def test_a_part_that_lacks_an_input_is_refused(whole, tmp_path):
    framework, model, _ = whole
    _, outputs = middle(model)
    piece = Piece(feeds=(), fetch=tuple(outputs))
    with pytest.raises(UsageError):
        framework.cut(model, piece, {}, tmp_path / f"part{framework.suffix}")

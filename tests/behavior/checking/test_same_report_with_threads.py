"""The number of threads that an oracle computes with changes nothing in a report."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.threads import use_threads
from isomorph.core.trace import Environment, Noise
from isomorph.kernels import convolution
from isomorph.oracle import noise
from isomorph.oracle.noise_stats import disturbed
from isomorph.reporters.json import as_json
from isomorph.sessions.in_process import InProcessHost

SIZE, CHANNELS, CLASSES = 32, 16, 300


@pytest.fixture(autouse=True)
def _parts_of_small_tensors(monkeypatch):
    """Parts are a hundredth of what they are, so that small tensors have several."""
    monkeypatch.setattr(noise, "PIECE", 1 << 9)
    monkeypatch.setattr(noise, "_PART", 1 << 11)
    monkeypatch.setattr(convolution, "_BLOCK_BYTES", 1 << 16)
    yield
    use_threads(1)


def saved(path, *, wrong=0.0):
    random = np.random.default_rng(0)
    weights = {
        "w1": random.normal(size=(CHANNELS, 3, 3, 3)),
        "w2": random.normal(size=(CHANNELS, CHANNELS, 3, 3)) / 10,
        "w3": random.normal(size=(CHANNELS, CLASSES)),
    }
    weights["w2"][1, 2, 0, 0] += wrong
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], name="first", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Conv", ["b", "w2"], ["c"], name="second", pads=[1] * 4),
        helper.make_node("GlobalAveragePool", ["c"], ["d"], name="pool"),
        helper.make_node("Flatten", ["d"], ["e"], name="flat"),
        helper.make_node("MatMul", ["e", "w3"], ["y"], name="head"),
    ]
    graph = helper.make_graph(
        nodes, "network",
        [value("x", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [value("y", TensorProto.FLOAT, [1, CLASSES])],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
    )  # fmt: skip
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path
    )
    return path


def report(reference, candidate):
    """The report of a check as data, without the time that it took."""
    found = json.loads(as_json(isomorph.check(reference, candidate, in_process=True)))
    for taken in ("cost", "elapsed"):
        found.pop(taken)
    return found


@pytest.mark.parametrize("wrong", [0.0, 0.5])
def test_a_report_is_the_same_with_one_thread_and_with_four(tmp_path, wrong):
    reference = saved(tmp_path / "reference.onnx")
    candidate = saved(tmp_path / "candidate.onnx", wrong=wrong)
    found = []
    for count in (1, 4):
        use_threads(count)
        found.append(report(reference, candidate))
    assert found[0] == found[1]
    assert found[0]["verdict"] == ("divergent" if wrong else "equivalent")


def test_every_tensor_and_its_noise_are_the_same_bit_by_bit(tmp_path):
    host = InProcessHost()
    model = host.load(str(saved(tmp_path / "model.onnx")), "onnx", {})
    feeds = {"x": np.random.default_rng(1).normal(size=(1, 3, SIZE, SIZE)).astype(np.float32)}
    noises = [Noise(seed=seed, rounding=True) for seed in range(3)]
    names = ["a", "b", "c", "d", "e", "y"]
    found = []
    for count in (1, 2, 4):
        use_threads(count)
        session = host.open(model, Environment(runtime="onnx_oracle"))
        found.append(disturbed(session, feeds, names, noises, draws_of=["y"]))
    for other in found[1:]:
        assert other.moved == found[0].moved
        assert all(np.array_equal(other.values[name], found[0].values[name]) for name in names)
        assert all(
            np.array_equal(one["y"], two["y"])
            for one, two in zip(found[0].draws, other.draws, strict=True)
        )
    assert not np.array_equal(found[0].draws[0]["y"], found[0].draws[1]["y"])

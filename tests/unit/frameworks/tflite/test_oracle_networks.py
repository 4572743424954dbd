"""Whole Keras networks in every precision: each operator of the oracle against LiteRT's."""

from pathlib import Path

import numpy as np
import pytest

from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.tflite.framework import TfliteFramework
from isomorph.frameworks.tflite.oracle import TfliteOracle
from isomorph.frameworks.tflite.runtime import TfliteRuntime
from model_fixtures import kept_models

_SCRIPT = Path(__file__).with_name("oracle_models.py")

FLOAT = ["cnn_float", "lstm_float", "gru_float", "rnn_float", "both_ways_float",
         "transformer_float", "cnn_float16", "lstm_float16", "transformer_float16"]  # fmt: skip
DYNAMIC = ["cnn_dynamic", "lstm_dynamic", "transformer_dynamic"]
WHOLE = ["cnn_int8", "cnn_int16", "transformer_int8"]

LOOSE = {"ADD": 2, "SUB": 2, "TANH": 3, "LOGISTIC": 2, "SOFTMAX": 2, "HARD_SWISH": 2, "GELU": 2}
"""Quanta: two for tables and sums of two grids, three for the 16-bit tanh; else one."""


@pytest.fixture(scope="module")
def networks(request):
    """A folder of models, made once in a process of its own and kept between test runs."""
    return kept_models(request, _SCRIPT, "tflite-networks")


class Both:
    """One model in LiteRT's own kernels and in the oracle, with what LiteRT computed."""

    def __init__(self, path):
        self.model = TfliteFramework().load(str(path), {})
        plain = Environment(runtime="tflite", settings={"xnnpack": "off"})
        self.litert = TfliteRuntime().open(self.model, plain)
        self.oracle = TfliteOracle().open(self.model, Environment(runtime="tflite_oracle"))
        rng = np.random.default_rng(5)
        spec = self.model.graph.inputs[0]
        x = rng.normal(size=spec.shape)
        x = np.clip(x * 40, -128, 127) if spec.dtype == "int8" else x
        self.feeds = {spec.name: x.astype(spec.dtype)}
        names = [name for node in self.model.graph.nodes for name in node.outputs]
        self.seen = {**self.feeds, **self.litert.run(self.feeds, names)}

    def nodes(self):
        """Every operator, what LiteRT fed it, and what LiteRT made of it."""
        for node in self.model.graph.nodes:
            given = {name: self.seen[name] for name in node.inputs if name in self.seen}
            if given:
                yield node, given, {name: self.seen[name] for name in node.outputs}

    def spread(self, feeds, name, draws=8, *, run_time=True):
        calm = self.oracle.run(feeds, [name])[name]
        noises = [Noise(seed=k, rounding=True, run_time=run_time) for k in range(draws)]
        noisy = [self.oracle.run(feeds, [name], noise=each)[name] for each in noises]
        return np.sqrt(np.mean([(run - calm) ** 2 for run in noisy]))


@pytest.mark.parametrize("name", FLOAT + DYNAMIC)
def test_every_float_operator_lies_within_its_own_noise(networks, name):
    both = Both(networks / f"{name}.tflite")
    checked = 0
    for node, given, made in both.nodes():
        for tensor, actual in made.items():
            wanted = both.oracle.run(given, [tensor])[tensor]
            assert wanted.shape == actual.shape, node.name
            if actual.dtype.kind != "f":
                assert np.array_equal(wanted, actual), node.name
                continue
            largest = np.max(np.abs(wanted), initial=1e-30)
            allowed = 8 * both.spread(given, tensor) + 2.0**-23 * largest
            assert np.max(np.abs(actual - wanted), initial=0.0) <= allowed, node.name
            checked += 1
    assert checked > 5


@pytest.mark.parametrize("name", WHOLE)
def test_every_quantized_operator_lies_within_its_quanta(networks, name):
    both = Both(networks / f"{name}.tflite")
    checked = 0
    for node, given, made in both.nodes():
        for tensor, actual in made.items():
            wanted = both.oracle.run(given, [tensor])[tensor]
            if actual.dtype.kind != "f":
                assert wanted.dtype == actual.dtype
                gap = np.abs(actual.astype(np.int64) - wanted.astype(np.int64))
                assert gap.max() <= LOOSE.get(node.native_op, 1), node.name
                checked += 1
    assert checked > 10


@pytest.mark.parametrize("name", FLOAT)
def test_the_whole_network_is_as_near_as_its_noise_allows(networks, name):
    both = Both(networks / f"{name}.tflite")
    output = both.model.graph.outputs[0].name
    wanted = both.oracle.run(both.feeds, [output])[output]
    gap = np.max(np.abs(both.seen[output] - wanted))
    allowed = 8 * both.spread(both.feeds, output)
    assert gap <= allowed + 2.0**-23 * np.max(np.abs(wanted))
    assert gap > allowed / 1000, "the noise excuses everything"
    assert allowed < 1e-5


@pytest.mark.parametrize("name", DYNAMIC)
def test_run_time_quantizers_are_noise_and_not_meaning(networks, name):
    both = Both(networks / f"{name}.tflite")
    output = both.model.graph.outputs[0].name
    wanted = both.oracle.run(both.feeds, [output])[output]
    gap = np.max(np.abs(both.seen[output] - wanted))
    spread = both.spread(both.feeds, output)
    assert 1e-6 < gap <= 8 * spread
    assert spread < 0.02
    # What a kernel does when it runs is no excuse for another graph.
    assert both.spread(both.feeds, output, run_time=False) < 0.01 * spread


def test_weights_of_the_dynamic_network_are_those_of_the_float_one(networks):
    """The oracle takes the stored integers for what they stand for."""
    outputs = {}
    for name in ("cnn_float", "cnn_dynamic"):
        both = Both(networks / f"{name}.tflite")
        output = both.model.graph.outputs[0].name
        outputs[name] = both.oracle.run(both.feeds, [output])[output]
    gap = np.max(np.abs(outputs["cnn_float"] - outputs["cnn_dynamic"]))
    assert 1e-6 < gap < 0.02


@pytest.mark.parametrize("name", WHOLE)
def test_disturbed_quantizers_lose_what_their_width_intends(networks, name):
    both = Both(networks / f"{name}.tflite")
    output = both.model.graph.outputs[0].name
    grid = next((q for q in both.model.graph.quantization if q.tensor == output), None)
    ideal = [
        both.oracle.run(both.feeds, [output], noise=Noise(seed=k, quantizers=True))[output]
        for k in range(6)
    ]
    assert all(run.dtype == np.float64 for run in ideal)
    loss = np.std(ideal, axis=0).max()
    assert loss > 0
    as_run = np.asarray(both.seen[output], np.float64)
    scale = 1.0 if grid is None else grid.scale[0]
    assert np.max(np.abs(as_run - np.mean(ideal, axis=0))) * scale < 0.05

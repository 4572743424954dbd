"""Whole graphs as ONNX Runtime's optimizers and quantizers leave them, against its own run."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from onnxruntime.quantization import QuantFormat

import optimized_networks as networks
from isomorph.core.trace import Noise
from isomorph.frameworks.onnx.evaluator import Evaluator
from isomorph.kernels.registry import find, load_all

load_all()


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    # The quantizers advise a preprocessing step through the root logger.
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def evaluate(model, noise=None):
    evaluator = Evaluator(model)
    feeds = networks.feeds_of(model)
    return evaluator.run(feeds, evaluator.outputs, noise)[evaluator.outputs[0]]


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def operators(model):
    return {(node.domain, node.op_type) for node in model.graph.node}


def assert_all_known(model):
    """ONNX Runtime's own operators have no definition to fall back to."""
    own = {(domain, op) for domain, op in operators(model) if domain.startswith("com.")}
    assert {pair for pair in own if find(*pair, 1) is None} == set()


FLOAT = {
    "cnn": networks.residual_cnn,
    "transformer": networks.transformer_block,
    "lstm": networks.lstm_network,
    "gated": networks.gated_network,
}
STATIC = {
    "cnn": lambda: networks.residual_cnn(plain=True),
    "gated": networks.gated_network,
}


@pytest.mark.parametrize("level", networks.LEVELS)
@pytest.mark.parametrize("name", FLOAT)
def test_float_networks(name, level, tmp_path):
    model, ran = networks.optimized(FLOAT[name](), level, tmp_path)
    assert_all_known(model)
    exact = evaluate(model)
    spread = rms(
        [evaluate(model, Noise(seed=s, rounding=True, run_time=True)) - exact for s in range(4)]
    )
    assert np.abs(ran - exact).max() <= 8 * spread
    assert spread <= 1e-5 * rms(exact)


def test_the_layout_optimizer_really_ran(tmp_path):
    model, _ = networks.optimized(networks.residual_cnn(), "all", tmp_path)
    blocked = {op for domain, op in operators(model) if domain == "com.microsoft.nchwc"}
    assert {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "ReorderOutput"} <= blocked


@pytest.mark.parametrize("level", networks.LEVELS)
@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator], ids=str)
@pytest.mark.parametrize("name", STATIC)
def test_static_int8_network(name, form, level, tmp_path):
    """The oracle stands far nearer to the run than the quantized model to the float one."""
    source = STATIC[name]()
    model, ran = networks.optimized(
        networks.statically_quantized(source, tmp_path, form), level, tmp_path
    )
    assert_all_known(model)
    assert any(op.startswith("QLinear") for _, op in operators(model))
    exact = evaluate(model)
    loss = rms(exact - evaluate(source))
    assert loss > 0
    assert rms(ran - exact) <= 0.5 * loss


def test_block_quantized_network(tmp_path):
    """The optimizer lets the run time quantize the activations as well; the noise knows it."""
    model, ran = networks.optimized(networks.block_quantized_network(), "all", tmp_path)
    assert operators(model) == {("com.microsoft", "MatMulNBits")}
    exact = evaluate(model)
    plain = evaluate(networks.block_quantized_network())
    np.testing.assert_allclose(exact, plain, atol=1e-6 * rms(plain))
    spread = rms(
        [evaluate(model, Noise(seed=s, rounding=True, run_time=True)) - exact for s in range(6)]
    )
    assert np.abs(ran - exact).max() <= 8 * spread


@pytest.mark.parametrize("level", networks.LEVELS)
@pytest.mark.parametrize("name", ["transformer", "lstm"])
def test_dynamic_int8_network(name, level, tmp_path):
    """What the run time quantizes is noise in the oracle, and covers the run."""
    model, ran = networks.optimized(
        networks.dynamically_quantized(FLOAT[name](), tmp_path), level, tmp_path
    )
    assert_all_known(model)
    assert any(op.startswith("DynamicQuantize") for _, op in operators(model))
    exact = evaluate(model)
    spread = rms(
        [evaluate(model, Noise(seed=s, rounding=True, run_time=True)) - exact for s in range(6)]
    )
    assert rms(ran - exact) <= 3 * spread
    assert np.abs(ran - exact).max() <= 8 * spread


@pytest.mark.parametrize("level", [None, "extended", "all"])
@pytest.mark.parametrize("kind", ["QDQ", "QOperator", "dynamic"])
def test_intended_loss_is_the_size_of_the_real_one(kind, level, tmp_path):
    """Disturbed quantizers give the float network back, up to a loss as large as the real one."""
    if kind == "dynamic":
        source = networks.transformer_block()
        model = networks.dynamically_quantized(source, tmp_path)
    else:
        source = networks.residual_cnn(plain=True)
        model = networks.statically_quantized(source, tmp_path, QuantFormat[kind])
    real = rms(evaluate(model) - evaluate(source))
    if level is not None:
        model, _ = networks.optimized(model, level, tmp_path)
    draws = np.stack([evaluate(model, Noise(seed=s, quantizers=True)) for s in range(6)])
    spread = rms(draws - draws.mean(axis=0))
    assert real / 3 <= spread <= 3 * real
    assert rms(draws.mean(axis=0) - evaluate(source)) <= 3 * real

"""JAX on a GPU: TF32 that nobody asked for is found with its switch; asked for, it is a loss."""

from pathlib import Path

import numpy as np
import pytest

import isomorph
from isomorph.core.divergence import Verdict

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax


def has_cuda():
    try:
        return bool(jax.devices("cuda"))
    except RuntimeError:
        return False


needs_cuda = pytest.mark.skipif(not has_cuda(), reason="JAX has no CUDA device")


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32) / shape[-2] ** 0.5


FIRST, SECOND, HEAD = normal(0, 3, 3, 16, 32), normal(1, 3, 3, 32, 32), normal(2, 32, 10)
KEYS, INNER, OUTER = normal(3, 64, 192), normal(4, 64, 256), normal(5, 256, 64)
GATES, STATE = normal(6, 24, 128), normal(7, 32, 128)


def convolutions(x):
    for kernel in (FIRST, SECOND):
        layout = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)
        x = jax.nn.relu(x)
    return x.mean((1, 2)) @ HEAD


def attention(x):
    def normed(v):
        return (v - v.mean(-1, keepdims=True)) * lax.rsqrt(v.var(-1, keepdims=True) + 1e-5)

    q, k, v = jnp.split(normed(x) @ KEYS, 3, -1)
    x = x + jax.nn.softmax(q @ k.swapaxes(-1, -2) / 8.0) @ v
    return x + jax.nn.gelu(normed(x) @ INNER) @ OUTER


def recurrent(x):
    def step(carried, row):
        hidden, cell = carried
        i, f, g, o = jnp.split(row @ GATES + hidden @ STATE, 4, -1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    start = jnp.zeros((x.shape[1], 32), x.dtype)
    return lax.scan(step, (start, start), x)[1]


NETWORKS = {
    "convolutions": (convolutions, (2, 12, 12, 16)),
    "attention": (attention, (2, 16, 64)),
    "recurrent": (recurrent, (12, 3, 24)),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cuda")
    for name, (function, shape) in NETWORKS.items():
        spec = jax.ShapeDtypeStruct(shape, np.float32)
        found = jax.export.export(jax.jit(function), platforms=("cpu", "cuda"))(spec)
        Path(folder / f"{name}.jax").write_bytes(found.serialize())
    return folder


def checked(*models, inputs=None, **settings):
    runtime = isomorph.RuntimeOptions(settings=settings)
    return isomorph.check(*models, inputs=inputs, options=isomorph.CheckOptions(runtime=runtime))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_function_for_two_platforms_is_the_same_as_that_for_one(files, name):
    function, shape = NETWORKS[name]
    spec = jax.ShapeDtypeStruct(shape, np.float32)
    alone = files / f"{name}-alone.jax"
    found = jax.export.export(jax.jit(function), platforms=("cpu",))(spec)
    alone.write_bytes(found.serialize())
    report = checked(alone, files / f"{name}.jax")
    assert report.verdict is Verdict.EQUIVALENT, report.reason
    assert not report.findings


@pytest.mark.skipif(has_cuda(), reason="JAX has a CUDA device")
def test_without_a_gpu_the_setting_is_refused_and_the_verdict_unknown(files):
    report = checked(files / "attention.jax", device="cuda")
    assert report.verdict is Verdict.UNKNOWN
    assert "cannot use device 'cuda'" in report.reason
    assert report.exit_code == 3


@needs_cuda
@pytest.mark.parametrize("name", NETWORKS)
def test_the_highest_precision_is_the_function(files, name):
    path = files / f"{name}.jax"
    settings = {"candidate.device": "cuda", "candidate.matmul_precision": "highest"}
    report = checked(path, path, **settings)
    assert report.verdict is Verdict.EQUIVALENT, report.reason
    assert not report.findings


@needs_cuda
@pytest.mark.parametrize("name", NETWORKS)
def test_tf32_that_nobody_asked_for_is_named_with_its_switch(files, name):
    path = files / f"{name}.jax"
    report = checked(path, path, **{"candidate.device": "cuda"})
    assert report.verdict is Verdict.DIVERGENT, report.reason
    [finding] = [each for each in report.findings if each.cause]
    assert finding.cause == "precision"
    assert "tf32" in finding.summary.lower()
    assert "matmul_precision=highest" in finding.fix


@needs_cuda
@pytest.mark.parametrize("name", NETWORKS)
def test_tf32_that_was_asked_for_is_a_loss(files, name):
    path = files / f"{name}.jax"
    settings = {"candidate.device": "cuda", "candidate.matmul_precision": "high"}
    report = checked(path, path, **settings)
    assert report.verdict is Verdict.DEGRADED, report.reason
    assert not report.findings


@needs_cuda
@pytest.mark.parametrize("name", NETWORKS)
def test_a_live_function_is_checked_on_the_gpu(name):
    function, shape = NETWORKS[name]
    settings = {"device": "cuda", "matmul_precision": "highest"}
    report = checked(function, inputs={"x": normal(9, *shape)}, **settings)
    assert report.verdict is Verdict.EQUIVALENT, report.reason
    assert report.exit_code == 0

"""A function made of an exported module's operations computes the same, bit by bit or nearly."""

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.jax.framework import JaxFramework
from jax_building import exported, image, network

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

MATRIX = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def replayed(function, tmp_path, *shape):
    from isomorph.converters._stablehlo_function import function_of

    path = tmp_path / "function.jax"
    path.write_bytes(exported(function, shape))
    return function_of(JaxFramework().load(str(path), {}).native)


CASES = {
    "functions": lambda x: [jnp.tanh(x), jnp.exp(x), jax.scipy.special.erf(x), jnp.arcsinh(x)],
    "choices": lambda x: [jnp.where(x > 0, x, -1.0), jnp.clip(x, -1, 1), jnp.round(x)],
    "products": lambda x: [x @ MATRIX, jnp.einsum("bij,bkj->bik", x, x)],
    "sums": lambda x: [x.sum(1), x.max(), x.mean(2), jnp.cumsum(x, 1), (x > 0).all(1)],
    "places": lambda x: [x.argmax(2), x.argmin(1), lax.top_k(x, 2)[1], jnp.sort(x, 1)],
    "movement": lambda x: [x.transpose(2, 0, 1), x[:, ::-1, 1:], jnp.pad(x, 1), x.reshape(-1)],
    "gather": lambda x: [x[jnp.array([1, 0])], jnp.take(x, jnp.array([0, 2]), axis=1)],
    "scatter": lambda x: [x.at[:, 1].set(0.5), x.at[jnp.array([0, 0])].add(x[:1])],
    "windows": lambda x: [
        lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2), (1, 1, 2), "SAME"),
        lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 1, 1), "VALID"),
    ],
    "loops": lambda x: [lax.scan(lambda c, r: (jnp.tanh(c + r), c), x[0, 0], x[0])[1]],
    "branches": lambda x: [lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)],
    "integers": lambda x: [(x * 9).astype(np.int32) // 4, (x * 9).astype(np.int32) % 5],
}


@pytest.mark.parametrize("name", CASES)
def test_it_computes_what_the_function_does(name, tmp_path):
    x = np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32)
    found = jax.jit(replayed(CASES[name], tmp_path, *x.shape))(x)
    wanted = jax.jit(CASES[name])(x)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert np.allclose(one, other, atol=1e-6)


def test_a_network_is_the_same_function(tmp_path):
    found = jax.jit(replayed(network, tmp_path, *image().shape))(image())
    wanted = jax.jit(network)(image())
    assert np.allclose(found[0], wanted["logits"], atol=1e-6)
    assert np.array_equal(found[1], wanted["place"])


def test_an_operation_without_a_counterpart_is_refused_by_its_name(tmp_path):
    function = replayed(lambda x: jnp.fft.fft(x).real, tmp_path, 4)
    with pytest.raises(UnreadableModelError, match="fft"):
        jax.jit(function)(np.zeros(4, np.float32))

"""The oracle of JAX: every operation is what the run computes, within the noise of its rounding."""

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.jax.framework import JaxFramework
from isomorph.frameworks.jax.oracle import JaxOracle
from isomorph.frameworks.jax.runtime import JaxRuntime
from jax_building import exported

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

RNG = np.random.default_rng(3)
WEIGHT = RNG.normal(size=(3, 3, 4, 6)).astype(np.float32)
MATRIX = RNG.normal(size=(4, 5)).astype(np.float32)
LAYOUT = ("NHWC", "HWIO", "NHWC")


def convolved(x, weight=WEIGHT, strides=(1, 1), padding="SAME", **more):
    return lax.conv_general_dilated(
        x[:, :, :, None] * MATRIX[:, 0], weight, strides, padding, dimension_numbers=LAYOUT, **more
    )


def total_of(x):
    return lax.while_loop(
        lambda c: c[0] < 4, lambda c: (c[0] + 1, jnp.tanh(c[1] + x[0, 0, 0])), (0, x)
    )[1]


CASES = {
    "arithmetic": lambda x: (x + 1.5) * x - x / (jnp.abs(x) + 1.25),
    "functions": lambda x: [
        f(x) for f in (jnp.sin, jnp.cos, jnp.tan, jnp.tanh, jnp.exp, jnp.expm1, jnp.arctan)
    ],
    "of positive": lambda x: [
        f(jnp.abs(x) + 0.25) for f in (jnp.log, jnp.log1p, jnp.sqrt, lax.rsqrt, jnp.cbrt)
    ],
    "hyperbolic": lambda x: [f(x) for f in (jnp.sinh, jnp.cosh, jnp.arcsinh)],
    "angles": lambda x: [jnp.arcsin(x / 9), jnp.arccos(x / 9), jnp.arctan2(x, x[::-1])],
    "erf": lambda x: [jax.scipy.special.erf(x), jax.scipy.special.erfc(x)],
    "powers": lambda x: [x**3, jnp.abs(x) ** 1.7, lax.integer_pow(x, 5)],
    "activations": lambda x: [
        f(x) for f in (jax.nn.relu, jax.nn.silu, jax.nn.gelu, jax.nn.softplus, jax.nn.hard_swish)
    ],
    "rounding": lambda x: [jnp.floor(x), jnp.ceil(x), jnp.round(x), lax.round(x), jnp.sign(x)],
    "remainder": lambda x: [lax.rem(x, x + 9), jnp.mod(x, 0.75), jnp.floor_divide(x, 0.5)],
    "choice": lambda x: [jnp.where(x > 0, x, -x), jnp.clip(x, -0.5, 0.5), jnp.maximum(x, 0.1)],
    "questions": lambda x: [x > 0, x == x, jnp.isfinite(x), (x > 0) & (x < 1), ~(x != 0)],
    "integers": lambda x: [
        (x * 9).astype(np.int32) // 4,
        (x * 9).astype(np.int32) % 5,
        (x * 9).astype(np.int32) << 3,
        (x * 9).astype(np.int32) >> 1,
        lax.population_count((x * 9).astype(np.int32)),
        lax.shift_right_logical((x * 9).astype(np.int32), 2),
        (x * 1e12).astype(np.int32),
        x.astype(bool),
    ],
    "types": lambda x: [x.astype(np.float16), x.astype(jnp.bfloat16).astype(np.float32)],
    "fewer digits": lambda x: lax.reduce_precision(x, 8, 7),
    "bits": lambda x: lax.bitcast_convert_type(lax.stop_gradient(x * 0 + 1.5), np.int32),
    "product": lambda x: x.reshape(-1, 4) @ MATRIX,
    "batched product": lambda x: jnp.einsum("bij,bkj->bik", x, x),
    "vectors": lambda x: jnp.dot(x[0, 0], x[0, 1]),
    "convolution": convolved,
    "strided": lambda x: convolved(x, strides=(2, 1), padding=((1, 2), (0, 1))),
    "dilated": lambda x: convolved(x, rhs_dilation=(2, 1)),
    "transposed": lambda x: convolved(x, padding=((2, 1), (1, 2)), lhs_dilation=(2, 2)),
    "grouped": lambda x: convolved(x, WEIGHT[:, :, :1, :4], feature_group_count=4),
    "sums": lambda x: [x.sum(1), x.mean((0, 2)), x.prod(2), x.var(1), jnp.cumsum(x, 1)],
    "extremes": lambda x: [x.max(1), x.min(), (x > 0).any(1), (x > 0).all(0), x.argmax(2)],
    "other extremes": lambda x: [x.argmin(1), jnp.nanmax(x), jax.nn.logsumexp(x, axis=1)],
    "windows": lambda x: [
        lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2), (1, 1, 2), "SAME"),
        lax.reduce_window(x, 0.0, lax.add, (1, 2, 3), (1, 2, 1), "VALID"),
        lax.reduce_window(x, np.inf, lax.min, (1, 2, 2), (1, 1, 1), "VALID"),
    ],
    "softmax": lambda x: [jax.nn.softmax(x, -1), jax.nn.log_softmax(x, 1)],
    "movement": lambda x: [
        x.transpose(2, 0, 1),
        x[:, ::2, 1:3],
        x[:, ::-1],
        jnp.concatenate([x, x * 2], 1),
        jnp.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=0.5),
        lax.pad(x, 0.25, ((0, 1, 0), (-1, 0, 1), (0, 0, 2))),
        jnp.broadcast_to(x[:, :1], x.shape),
    ],
    "places": lambda x: [
        x[jnp.array([1, 0, 1])],
        jnp.take(x, jnp.array([[0, 2], [1, 1]]), axis=1),
        jnp.take_along_axis(x, x.argsort(1), axis=1),
        x.reshape(-1)[jnp.array([0, 99])],
    ],
    "read places": lambda x: [
        lax.dynamic_slice(x, ((x[0, 0, 0] > 0).astype(np.int32), 1, 0), (1, 2, 4)),
        lax.dynamic_update_slice(x, x[:1, :1] * 2, (0, (x[0, 0, 0] > 9).astype(np.int32), 0)),
    ],
    "written places": lambda x: [
        x.at[:, 1].set(0.5),
        x.at[jnp.array([0, 0, 1])].add(x[:1]),
        x.at[0, jnp.array([1, 1])].max(0.75),
        x.at[jnp.array([5])].add(3.0),
        x.at[0].multiply(1.5),
    ],
    "orders": lambda x: [
        jnp.sort(x, 1),
        jnp.argsort(-x, 0),
        lax.top_k(x, 2)[0],
        lax.top_k(x, 2)[1],
        jnp.sort(x, 2, descending=True),
        *lax.sort((jnp.round(x[0]), x[0], x[1]), dimension=0, num_keys=2),
    ],
    "loop": total_of,
    "scan": lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), c * r), x[0, 0], x[0])[1],
    "branches": lambda x: [
        lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
        lax.switch((x[0, 0, 0] > 9).astype(np.int32) + 1, [jnp.sin, jnp.cos, jnp.tanh], x),
    ],
    "random": lambda x: x + jax.random.normal(jax.random.key(0), x.shape),
    "statistics": lambda x: (x - x.mean()) / x.std(),
    "outer constant": lambda x: lax.fori_loop(0, 3, lambda i, c: c @ MATRIX[:4, :4], x[0]),
}


def model_of(function, tmp_path, shape=(2, 3, 4)):
    path = tmp_path / "function.jax"
    path.write_bytes(exported(function, shape))
    return JaxFramework().load(str(path), {})


def opened(extension, model, **settings):
    return extension.open(model, Environment(runtime=extension.name, settings=settings))


@pytest.mark.parametrize("name", CASES)
def test_it_computes_what_the_run_does_within_its_noise(name, tmp_path):
    model = model_of(CASES[name], tmp_path)
    feeds = {"x": np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32)}
    oracle, run = opened(JaxOracle(), model), opened(JaxRuntime(), model)
    names = [spec.name for spec in model.graph.outputs]
    exact, seen = oracle.run(feeds, names), run.run(feeds, names)
    draws = [oracle.run(feeds, names, noise=Noise(seed=s, rounding=True)) for s in range(6)]
    for spec in model.graph.outputs:
        one, other = exact[spec.name], seen[spec.name]
        assert one.shape == other.shape
        assert other.dtype.name == spec.dtype
        if other.dtype.kind in "biu":
            assert np.array_equal(one, other), spec.name
            continue
        spread = np.max([np.abs(draw[spec.name] - one) for draw in draws], axis=0)
        error = np.abs(np.asarray(other, np.float64) - one)
        # The spread of one element of few draws may happen to be small.
        allowed = 6 * np.maximum(spread, spread.max() / 8) + 1e-12
        assert np.all(error <= allowed), (spec.name, (error / allowed).max())


ROUNDS = (
    "arithmetic", "functions", "of positive", "hyperbolic", "angles", "erf", "powers", "product",
    "batched product", "vectors", "convolution", "strided", "dilated", "transposed", "grouped",
    "sums", "softmax", "loop", "scan", "branches", "statistics", "outer constant",
)  # fmt: skip


@pytest.mark.parametrize("name", ROUNDS)
def test_what_rounds_is_disturbed(name, tmp_path):
    model = model_of(CASES[name], tmp_path)
    feeds = {"x": np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32)}
    oracle, names = opened(JaxOracle(), model), [spec.name for spec in model.graph.outputs]
    clean = oracle.run(feeds, names)
    moved = oracle.run(feeds, names, noise=Noise(seed=1, rounding=True))
    assert [each for each in names if np.array_equal(clean[each], moved[each])] == []


def test_every_tensor_of_the_main_function_is_that_of_the_run(tmp_path):
    model = model_of(CASES["softmax"], tmp_path)
    feeds = {"x": np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32)}
    oracle, run = opened(JaxOracle(), model), opened(JaxRuntime(), model)
    names = [name for node in model.graph.nodes for name in node.outputs]
    exact, seen = oracle.run(feeds, names), run.run(feeds, names)
    assert len(names) > 8
    assert all(np.allclose(exact[n], seen[n], rtol=1e-5, atol=1e-6) for n in names)


def test_an_operation_that_draws_random_numbers_is_refused_by_its_name(tmp_path):
    def drawn(x):
        return x + lax.rng_bit_generator(jnp.zeros(4, np.uint32), x.shape)[1]

    model = model_of(drawn, tmp_path)
    with pytest.raises(UnreadableModelError, match="rng_bit_generator") as caught:
        opened(JaxOracle(), model)
    assert caught.value.code == "UNSUPPORTED_OP"


def test_complex_numbers_are_refused_as_they_have_no_noise(tmp_path):
    model = model_of(lambda x: jnp.fft.fft(x.reshape(-1)).real, tmp_path)
    with pytest.raises(UnreadableModelError, match="fft"):
        opened(JaxOracle(), model)


def test_dynamic_axes_take_any_size(tmp_path):
    from jax import export

    (size,) = export.symbolic_shape("n")
    function = jax.jit(lambda x: jax.nn.relu(x.reshape(-1, 2)).sum(0) / x.shape[0])
    found = export.export(function)(jax.ShapeDtypeStruct((size, 4), np.float32))
    path = tmp_path / "dynamic.jax"
    path.write_bytes(bytes(found.serialize()))
    model = JaxFramework().load(str(path), {})
    oracle, run = opened(JaxOracle(), model), opened(JaxRuntime(), model)
    (output,) = (spec.name for spec in model.graph.outputs)
    assert model.graph.inputs[0].shape == (None, 4)
    for count in (1, 3):
        x = np.random.default_rng(count).normal(size=(count, 4)).astype(np.float32)
        one, other = (each.run({"x": x}, [output])[output] for each in (oracle, run))
        assert np.allclose(one, other, rtol=1e-6)

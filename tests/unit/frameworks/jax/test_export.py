"""Live functions, partial ones and modules are exported with examples; errors name the remedy."""

from functools import partial

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.frameworks.jax.export import live_export
from isomorph.frameworks.jax.framework import JaxFramework
from jax_building import export_of

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
PARAMS = {"w": np.random.default_rng(1).normal(size=(4, 2)).astype(np.float32)}


def applied(params, x):
    return jnp.tanh(x @ params["w"])


def scaled(x, factor):
    return x * factor


def flax_module():
    nnx = pytest.importorskip("flax.nnx")
    return nnx.Linear(4, 2, rngs=nnx.Rngs(0))


def bound_linen_module():
    linen = pytest.importorskip("flax.linen")
    layer = linen.Dense(2)
    return layer.bind(layer.init(jax.random.key(0), X))


def equinox_module():
    equinox = pytest.importorskip("equinox")

    class Network(equinox.Module):
        weight: jax.Array

        def __call__(self, x):
            return jnp.tanh(x @ self.weight)

    return Network(jnp.asarray(PARAMS["w"]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: partial(applied, PARAMS),
        lambda: partial(jax.jit(applied), PARAMS),
        lambda: jax.jit(partial(applied, PARAMS)),
        lambda: lambda x: applied(PARAMS, x),
        flax_module,
        bound_linen_module,
        equinox_module,
    ],
)
def test_what_can_be_called_is_exported_and_computes_the_same(make, tmp_path):
    source = make()
    framework = JaxFramework()
    assert framework.claims(source)
    path = framework.hand_over(source, {"0": X}, tmp_path)
    model = framework.load(str(path), {})
    assert [spec.shape for spec in model.graph.inputs] == [(3, 4)]
    found = jax.jit(model.native.exported.call)(X)
    assert np.allclose(found, source(X), atol=1e-6)
    assert any(each.shape == (4, 2) for each in model.graph.constants.values())


def test_arrays_are_given_by_name_or_place():
    by_name = live_export(scaled, {"factor": np.float32(2), "x": X})
    by_place = live_export(scaled, {"1": np.float32(2), "0": X})
    assert [a.shape for a in by_name.in_avals] == [a.shape for a in by_place.in_avals]
    with pytest.raises(UsageError, match="no argument 'y'"):
        live_export(scaled, {"x": X, "y": X})


def test_an_exported_function_stays_as_it_is():
    found = export_of(jnp.sin, (4,))
    assert live_export(found, {}) is found


def test_a_function_needs_an_example():
    with pytest.raises(UsageError) as caught:
        live_export(scaled, {})
    assert caught.value.code == "EXAMPLE_NEEDED"


def test_a_python_decision_on_values_is_refused_with_the_reason():
    def decides(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(UnreadableModelError, match="decides") as caught:
        live_export(decides, {"0": X})
    assert caught.value.code == "NOT_EXPORTABLE"
    assert "lax.cond" in caught.value.fix


def test_types_are_those_that_jax_computes_with():
    found = live_export(lambda x: x + 1, {"0": np.arange(3, dtype=np.int64)})
    assert str(found.in_avals[0].dtype) == "int32"


def test_a_module_without_its_variables_is_not_claimed():
    linen = pytest.importorskip("flax.linen")
    assert not JaxFramework().claims(linen.Dense(2))

"""Sessions of JAX: the deployed function and its cuts agree, and unknown calls are refused."""

import numpy as np
import pytest

from isomorph.core.errors import RefusedError, UnreadableModelError, UsageError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.jax import session as sessions
from isomorph.frameworks.jax.framework import JaxFramework
from isomorph.frameworks.jax.runtime import JaxRuntime
from jax_building import calling, exported, image, network

jax = pytest.importorskip("jax")
jnp = jax.numpy


def loaded(tmp_path, data):
    path = tmp_path / "function.jax"
    path.write_bytes(data)
    return JaxFramework().load(str(path), {})


def opened(model, **settings):
    return JaxRuntime().open(model, Environment(runtime="jax", settings=settings))


def tensors(model):
    return [name for node in model.graph.nodes for name in node.outputs]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return loaded(tmp_path_factory.mktemp("jax"), exported())


def test_the_deployed_run_is_bit_by_bit_what_jax_computes(model):
    found = opened(model).run({"x": image()}, ["logits", "place"])
    wanted = jax.jit(network)(image())
    assert np.array_equal(found["logits"], wanted["logits"])
    assert np.array_equal(found["place"], wanted["place"])


@pytest.mark.parametrize("word", ["default", "unfused", "none"])
def test_cuts_agree_with_the_deployed_run(model, word):
    session = opened(model, optimization=word)
    outputs = session.run({"x": image()}, ["logits"])
    every = session.run({"x": image()}, tensors(model))
    assert np.allclose(every["logits"], outputs["logits"], atol=1e-6)
    assert session.environment.settings["optimization"] == word


def test_what_is_fed_is_not_computed(model):
    session = opened(model)
    node = next(node for node in model.graph.nodes if node.op == "Loop")
    before = session.run({"x": image()}, list(node.inputs))
    # No input of the function is fed: all that the loop reads is.
    found = session.run(before, list(node.outputs))
    again = session.run({"x": image()}, list(node.outputs))
    assert all(np.allclose(found[name], again[name]) for name in node.outputs)


def test_an_altered_constant_takes_effect(model):
    session = opened(model)
    name = next(name for name, each in model.graph.constants.items() if each.shape == (4, 5))
    stored = session.run({}, [name])[name]
    found = session.run({"x": image(), name: np.zeros_like(stored)}, ["logits"])
    assert not found["logits"].any()


def test_many_tensors_are_fetched_in_several_runs(model, monkeypatch):
    whole = opened(model, optimization="none").run({"x": image()}, tensors(model))
    monkeypatch.setattr(sessions, "byte_budget", lambda: 1000)
    parts = opened(model, optimization="none").run({"x": image()}, tensors(model))
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


def test_a_stated_precision_is_written_into_products_that_have_none(model):
    session = opened(model, matmul_precision="highest")
    cut = session._cutter.module(["x"], ["logits"], "highest")
    assert "HIGHEST, HIGHEST" in str(cut).replace("<precision ", "").replace(">", "")
    plain = session._cutter.module(["x"], ["logits"], "default")
    assert "HIGHEST" not in str(plain)
    found = session.run({"x": image()}, ["logits"])["logits"]
    assert np.allclose(found, opened(model).run({"x": image()}, ["logits"])["logits"], atol=1e-6)


def test_wrong_feeds_names_and_settings_are_refused(model):
    session = opened(model)
    with pytest.raises(UsageError, match="shape"):
        session.run({"x": image(3)}, ["logits"])
    with pytest.raises(UsageError, match="no tensor"):
        session.run({"x": image()}, ["logit"])
    with pytest.raises(UsageError, match="'x' is needed"):
        session.run({}, ["logits"])
    with pytest.raises(UsageError, match="disturbed"):
        session.run({"x": image()}, ["logits"], noise=Noise(seed=1))
    with pytest.raises(UsageError, match="no value"):
        opened(model, optimization="off")


def test_wide_numbers_stay_wide(tmp_path):
    from jax import export

    with jax.enable_x64(True):
        spec = jax.ShapeDtypeStruct((3,), np.float64)
        data = bytes(
            export.export(jax.jit(lambda x: x * 1.1), platforms=("cpu",))(spec).serialize()
        )
    x = np.array([0.1, 0.2, 0.3])
    session = opened(loaded(tmp_path, data))
    found = session.run({"x": x}, ["result"])["result"]
    assert found.dtype == np.float64
    assert np.array_equal(found, x * 1.1)


def test_a_library_that_is_not_known_is_not_called(tmp_path):
    with pytest.raises(UnreadableModelError, match="Frobnicate") as caught:
        opened(loaded(tmp_path, calling("Frobnicate")))
    assert caught.value.code == "UNSUPPORTED_OP"


def test_a_call_back_into_python_is_refused_by_policy(tmp_path):
    with pytest.raises(RefusedError, match="callback") as caught:
        opened(loaded(tmp_path, calling("xla_ffi_python_cpu_callback")))
    assert (caught.value.code, caught.value.exit_code) == ("IO_OP_IN_GRAPH", 4)

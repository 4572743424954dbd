"""JAX to TFLite from the exported module: proven, with the order of the outputs."""

import numpy as np
import pytest

import isomorph
from isomorph.core.divergence import Verdict
from jax_building import exported

jax = pytest.importorskip("jax")
pytest.importorskip("tensorflow")
jnp = jax.numpy


def function(x, y):
    z = jnp.abs(x) + 0.25
    return [jnp.log(z), jnp.sqrt(z) @ y, z.argmax(1), jax.nn.relu(x - 1)]


def test_outputs_keep_their_order(tmp_path):
    (tmp_path / "m.jax").write_bytes(exported(function, (2, 4), (4, 3)))
    done = isomorph.convert(tmp_path / "m.jax", tmp_path / "m.tflite", via=["jax_to_tflite"])
    assert done.verdict is Verdict.EQUIVALENT
    (hop,) = done.chosen
    assert not [each for each in hop.report.findings if each.code != "INTERFACE"]
    bound = [(each.reference, each.candidate) for each in hop.report.output_bindings]
    assert bound == [(f"result[{place}]", f"output_{place}") for place in range(4)]


def test_narrow_weights_are_a_loss_within_its_budget(tmp_path):
    weight = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    data = exported(lambda x: jnp.tanh(x @ weight), (2, 64))
    (tmp_path / "m.jax").write_bytes(data)
    done = isomorph.convert(tmp_path / "m.jax", tmp_path / "m.tflite", quantize="float16")
    assert done.verdict is Verdict.DEGRADED

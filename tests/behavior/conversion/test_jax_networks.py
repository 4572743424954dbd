"""Networks of JAX by their routes to ONNX and TFLite: proven, without a false report."""

import numpy as np
import pytest

import isomorph
from isomorph.core.divergence import Verdict
from jax_networks import NETWORKS, feeds_of

jax = pytest.importorskip("jax")


def written(name, folder):
    function, arrays = NETWORKS[name]()
    arrays = feeds_of(arrays)
    specs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays.values()]
    path = folder / "network.jax"
    exported = jax.export.export(jax.jit(function), platforms=("cpu",))(*specs)
    path.write_bytes(bytes(exported.serialize()))
    np.savez(folder / "inputs.npz", **arrays)
    return path


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("target", ["onnx", "tflite"])
def test_a_network_is_converted_and_proven(name, target, tmp_path):
    pytest.importorskip({"onnx": "jax2onnx", "tflite": "tensorflow"}[target])
    path, output = written(name, tmp_path), tmp_path / f"network.{target}"
    done = isomorph.convert(
        path, output, via=[f"jax_to_{target}"], inputs=str(tmp_path / "inputs.npz")
    )
    assert done.verdict is Verdict.EQUIVALENT
    (hop,) = done.chosen
    assert [each.code for each in hop.report.findings if each.code != "INTERFACE"] == []
    assert output.exists()

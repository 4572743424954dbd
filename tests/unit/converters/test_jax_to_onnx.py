"""JAX to ONNX from the exported module: proven, with the names of inputs and outputs."""

import onnx
import pytest

import isomorph
from isomorph.core.divergence import Verdict
from jax_building import exported

pytest.importorskip("jax2onnx")


def test_an_exported_network_becomes_a_proven_model_with_its_names(tmp_path):
    (tmp_path / "m.jax").write_bytes(exported())
    done = isomorph.convert(tmp_path / "m.jax", tmp_path / "m.onnx", via=["jax_to_onnx"])
    assert done.verdict is Verdict.EQUIVALENT
    graph = onnx.load(tmp_path / "m.onnx").graph
    assert [each.name for each in graph.input] == ["x"]
    assert [each.name for each in graph.output] == ["logits", "place"]
    (hop,) = done.chosen
    assert [each.code for each in hop.report.findings] == []

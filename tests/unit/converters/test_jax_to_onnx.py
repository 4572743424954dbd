"""JAX to ONNX from the exported module: proven, with the names of inputs and outputs."""

import numpy as np
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


def test_activations_between_convolutions_keep_the_order_of_axes(tmp_path):
    jax = pytest.importorskip("jax")
    draw = np.random.default_rng(0)
    kernels = [draw.normal(size=(3, 3, *each)).astype(np.float32) / 5 for each in ((3, 8), (8, 4))]

    def network(x):
        for kernel in kernels:
            x = jax.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x)
        return x

    given = jax.ShapeDtypeStruct((1, 8, 6, 3), "float32")
    (tmp_path / "m.jax").write_bytes(jax.export.export(jax.jit(network))(given).serialize())
    done = isomorph.convert(tmp_path / "m.jax", tmp_path / "m.onnx", via=["jax_to_onnx"])
    assert done.verdict is Verdict.EQUIVALENT


def test_plugins_for_layers_of_other_packages_are_not_imported(monkeypatch):
    from jax2onnx.plugins import plugin_system

    from isomorph.converters.jax_to_onnx import _load_plugins

    loaded = []
    monkeypatch.setattr(plugin_system, "_already_imported_plugins", False)
    monkeypatch.setattr(plugin_system, "_import_tree", lambda *given: loaded.append(given))
    _load_plugins()
    plugin_system.import_all_plugins()
    assert [(folder.name, package) for folder, package in loaded] == [
        ("jax", "jax2onnx.plugins.jax")
    ]


def test_a_release_with_other_names_imports_its_plugins_by_itself(monkeypatch):
    from jax2onnx.plugins import plugin_system

    from isomorph.converters.jax_to_onnx import _load_plugins

    monkeypatch.setattr(plugin_system, "_already_imported_plugins", False)
    monkeypatch.delattr(plugin_system, "_import_tree")
    _load_plugins()
    assert plugin_system._already_imported_plugins is False

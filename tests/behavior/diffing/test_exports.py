"""Diffs of what real exporters, converters and optimizers write."""

import warnings

import onnx
import pytest

import isomorph
from isomorph.core.model_diff import ChangeKind, Relation


def _ops(nodes):
    return [node.op for node in nodes]


def _relations(found):
    return {row.relation for row in found.rows}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Two blocks of normalization, linear layers and a residual sum, exported twice."""
    torch = pytest.importorskip("torch")
    from pytorch_networks import exported

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(8)
            self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

        def forward(self, x):
            return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))

    torch.manual_seed(0)
    network = torch.nn.Sequential(Block(), Block()).eval()
    folder, x = tmp_path_factory.mktemp("encoder"), torch.randn(1, 4, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(exported(network, x), folder / "net.pt2")
        torch.onnx.export(network, (x,), folder / "net.onnx", dynamo=True, verbose=False,
                          external_data=False)  # fmt: skip
    model = onnx.load(folder / "net.onnx")
    last = [node for node in model.graph.node if node.op_type == "LayerNormalization"][-1]
    next(each for each in last.attribute if each.name == "epsilon").f = 1e-3
    onnx.save(model, folder / "wrong.onnx")
    return folder


def test_one_wrong_attribute_across_formats(encoder):
    found = isomorph.diff(encoder / "net.pt2", encoder / "wrong.onnx", in_process=True)
    (changed,) = [row for row in found.rows if row.changes]
    assert changed.relation is Relation.CHANGED
    assert [(c.kind, c.name, c.reference, c.candidate) for c in changed.changes] == [
        (ChangeKind.ATTRIBUTE, "epsilon", "1e-05", "0.001")
    ]
    assert changed.reference[0].source.module == "1.norm"
    groups = [row for row in found.rows if row.relation is Relation.REGROUPED]
    assert [(_ops(row.reference), _ops(row.candidate)) for row in groups] == [
        (["Gemm"], ["MatMul", "Add"])
    ] * 4
    assert _relations(found) == {Relation.MATCHED, Relation.CHANGED, Relation.REGROUPED}
    assert not found.same


def test_one_wrong_attribute_within_a_format(encoder):
    found = isomorph.diff(encoder / "net.onnx", encoder / "wrong.onnx", in_process=True)
    assert found.counts["changed"] == 1
    assert set(found.counts) == {"matched", "changed"}
    assert isomorph.diff(encoder / "net.onnx", encoder / "net.onnx", in_process=True).same


def test_an_optimized_file_has_groups_and_nothing_else(encoder, tmp_path):
    onnxslim = pytest.importorskip("onnxslim")
    onnx.save(onnxslim.slim(onnx.load(encoder / "net.onnx")), tmp_path / "slim.onnx")
    found = isomorph.diff(encoder / "net.onnx", tmp_path / "slim.onnx", in_process=True)
    assert _relations(found) <= {Relation.MATCHED, Relation.REGROUPED}
    for row in found.rows:
        if row.relation is Relation.REGROUPED:
            assert {"MatMul", "Add"} <= set(_ops(row.reference))
            assert "Gemm" in _ops(row.candidate)
            assert row.changes == ()


def test_a_network_of_keras_and_its_tflite_file(tmp_path):
    keras = pytest.importorskip("keras")
    tf = pytest.importorskip("tensorflow")
    keras.utils.set_random_seed(0)
    layers = keras.layers
    network = keras.Sequential([
        keras.Input((8, 8, 3)), layers.Conv2D(4, 3, use_bias=False),
        layers.BatchNormalization(), layers.ReLU(6.0), layers.Flatten(), layers.Dense(5),
    ])  # fmt: skip
    norm = network.layers[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        norm.set_weights([weight + 0.5 for weight in norm.get_weights()])
        network.save(tmp_path / "net.keras")
        written = tf.lite.TFLiteConverter.from_keras_model(network).convert()
    (tmp_path / "net.tflite").write_bytes(written)
    found = isomorph.diff(tmp_path / "net.keras", tmp_path / "net.tflite", in_process=True)
    groups = [row for row in found.rows if row.relation is Relation.REGROUPED]
    convolution = next(row for row in groups if "Conv" in _ops(row.reference))
    assert _ops(convolution.candidate) == ["Conv"]
    assert {"Conv", "Rsqrt", "Mul", "Add", "Clip"} <= set(_ops(convolution.reference))
    assert _relations(found) <= {Relation.MATCHED, Relation.REGROUPED, Relation.CONVERSION}
    assert not [row for row in found.rows if row.changes]

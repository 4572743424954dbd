"""One network in every format that a converter here writes, and one fault in each."""

from functools import partial

import numpy as np
import pytest

import isomorph
from executorch_programs import exported, lowered
from isomorph.core.model_diff import ChangeKind, Relation

torch = pytest.importorskip("torch")
# Exporters and converters warn about themselves and about each other.
pytestmark = pytest.mark.filterwarnings("ignore")


class Network(torch.nn.Module):
    """Two convolutions with normalizations, one of them grouped."""

    def __init__(self, stride=1):
        super().__init__()
        self.c1, self.b1 = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.c2 = torch.nn.Conv2d(8, 8, 3, padding=1, groups=2, stride=stride)
        self.b2, self.fc = torch.nn.BatchNorm2d(8), torch.nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu(self.b1(self.c1(x)))
        return self.fc(torch.relu(self.b2(self.c2(x))).mean((2, 3)))


def network(*, swapped=False, stride=1):
    module = Network(stride).eval()
    torch.manual_seed(0)
    for each in module.parameters():
        torch.nn.init.normal_(each, 0.0, 0.5)
    for norm in (module.b1, module.b2):
        norm.running_mean.normal_(0.0, 0.5)
        norm.running_var.uniform_(0.5, 2.0)
    if swapped:
        module.c1.weight.data = module.c1.weight.data[:, [2, 1, 0]].clone()
    return module


X = (torch.zeros(1, 3, 16, 16),)


def as_executorch(module, path):
    pytest.importorskip("executorch")
    file = path.with_suffix(".pte")
    file.write_bytes(lowered(exported(module, X), xnnpack=True))
    return file


def as_openvino(module, path):
    openvino = pytest.importorskip("openvino")
    file = path.with_suffix(".xml")
    openvino.save_model(openvino.convert_model(exported(module, X)), file, compress_to_fp16=False)
    return file


def as_core_ml(module, path):
    coremltools = pytest.importorskip("coremltools")
    program = exported(module, X).run_decompositions({})
    made = coremltools.convert(
        program, convert_to="mlprogram", compute_precision=coremltools.precision.FLOAT32
    )
    file = path.with_suffix(".mlpackage")
    made.save(str(file))
    return file


def as_onnx(module, path):
    file = path.with_suffix(".onnx")
    torch.onnx.export(module, X, file, dynamo=True, verbose=False, external_data=False)
    return file


FORMATS = {
    "ExecuTorch": as_executorch,
    "OpenVINO": as_openvino,
    "Core ML": as_core_ml,
    "ONNX": as_onnx,
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    file = tmp_path_factory.mktemp("program") / "net.pt2"
    torch.export.save(exported(network(), X), file)
    return file


@pytest.mark.parametrize("form", FORMATS)
def test_a_conversion_changes_nothing_and_leaves_no_weight_open(form, program, tmp_path):
    found = isomorph.diff(program, FORMATS[form](network(), tmp_path / "net"), in_process=True)
    assert [row.changes for row in found.rows if row.changes] == []
    assert [row.uncompared for row in found.rows if row.uncompared] == []
    assert {row.relation for row in found.rows} <= {
        Relation.MATCHED, Relation.REGROUPED, Relation.CONVERSION
    }  # fmt: skip
    folded = [row for row in found.rows if "BatchNormalization" in {n.op for n in row.reference}]
    assert len(folded) == 2
    # Behind the second one, ExecuTorch transposes: what that does is left open.
    assert folded[0].attributes_compared


@pytest.mark.parametrize("form", FORMATS)
def test_swapped_channels_and_another_stride_are_named(form, program, tmp_path):
    wrong = FORMATS[form](network(swapped=True, stride=2), tmp_path / "net")
    found = isomorph.diff(program, wrong, in_process=True)
    changes = [change for row in found.rows for change in row.changes]
    constants = [each for each in changes if each.kind is ChangeKind.CONSTANT]
    assert len(constants) == 1
    assert "channels 0 and 2 along axis" in constants[0].detail
    if form != "ExecuTorch":
        assert ("strides", "[1, 1]", "[2, 2]") in [
            (each.name, each.reference, each.candidate) for each in changes
        ]


def test_two_functions_of_jax(tmp_path):
    jax = pytest.importorskip("jax")
    kernel = np.random.default_rng(0).normal(size=(8, 10)).astype(np.float32)

    def written(slope):
        def function(x):
            y = x @ kernel
            return (jax.numpy.where(y > 0, y, slope * y),)

        shape = jax.ShapeDtypeStruct((1, 8), np.float32)
        file = tmp_path / f"{slope}.jax"
        file.write_bytes(jax.export.export(jax.jit(function))(shape).serialize())
        return file

    found = isomorph.diff(written(0.1), written(0.2), in_process=True, trust=True)
    (row,) = [row for row in found.rows if row.relation is not Relation.MATCHED]
    (change,) = row.changes
    assert (change.reference, change.candidate) == ("0.1 (float32)", "0.2 (float32)")


def test_keras_saved_model_and_tflite_of_both_precisions(tmp_path):
    tensorflow = pytest.importorskip("tensorflow")
    import keras

    keras.utils.set_random_seed(0)
    model = keras.Sequential([
        keras.Input((12, 12, 3), batch_size=1), keras.layers.Conv2D(8, 3, padding="same"),
        keras.layers.BatchNormalization(), keras.layers.ReLU(),
        keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(4),
    ])  # fmt: skip
    draw = np.random.default_rng(0)
    for layer in model.layers:
        layer.set_weights([
            draw.uniform(0.5, 1.5, each.shape) for each in layer.get_weights()
        ])  # fmt: skip
    files = [tmp_path / each for each in ("net.keras", "saved", "net.tflite", "int8.tflite")]
    model.save(files[0])
    model.export(str(files[1]), verbose=False)
    for file in files[2:]:
        converter = tensorflow.lite.TFLiteConverter.from_saved_model(str(files[1]))
        if file.name.startswith("int8"):
            converter.optimizations = [tensorflow.lite.Optimize.DEFAULT]
            samples = [[draw.normal(size=(1, 12, 12, 3)).astype(np.float32)] for _ in range(4)]
            converter.representative_dataset = partial(iter, samples)
        file.write_bytes(converter.convert())
    for one, other in ((0, 1), (0, 2), (1, 2)):
        found = isomorph.diff(files[one], files[other], in_process=True, trust=True)
        assert [row.changes for row in found.rows if row.changes] == []
        assert [row.uncompared for row in found.rows if row.uncompared] == []
    found = isomorph.diff(files[2], files[3], in_process=True)
    details = {change.detail for row in found.rows for change in row.changes}
    assert details == {"quantized; all elements are within one step"}
    assert all(pair.reference is None for pair in found.quantization)

"""An axis that the conversion fixed is freed where the graph allows any size, and only there."""

import numpy as np
import onnx
import pytest

import faulty
import isomorph
from faulty import drawn, network
from isomorph import api
from isomorph.core.report import Fact
from isomorph.reporters._findings import repairable
from isomorph.reporters.repair_text import lines

TEXT = (
    "g (float[batch,6] x) => (float[batch,2,2] y)"
    " {{ [dense] d = MatMul(x, w) [bend] b = Tanh(d) [cut] y = Reshape(b, {sizes}) }}"
)
WEIGHTS = {"w": drawn(6, 4), "any": np.array([-1, 2, 2]), "three": np.array([3, 2, 2])}


def fixed(proto):
    copy = onnx.ModelProto.FromString(proto.SerializeToString())
    for value in (*copy.graph.input, *copy.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 3
    return copy


def repaired(folder, sizes):
    reference = faulty.saved(folder, "reference", network(TEXT.format(sizes="any"), **WEIGHTS))
    wrong = fixed(network(TEXT.format(sizes=sizes), **WEIGHTS))
    candidate = faulty.saved(folder, "candidate", wrong)
    output = folder / "fixed.onnx"
    given = {"x": drawn(3, 6, seed=1)}
    return api.fix(reference, candidate, output=output, inputs=given, in_process=True), output


def test_a_fixed_batch_is_free_again_and_proven_at_other_sizes(tmp_path):
    repair, output = repaired(tmp_path, "any")
    assert repair.repaired
    assert [each.patch.summary for each in repair.applied] == [
        "make axis 0 of 'x', axis 0 of 'y' dynamic again"
    ]
    assert len({each.origin for each in repair.proof.after}) > 3
    graph = onnx.load(output).graph
    for value in (graph.input[0], graph.output[0]):
        assert value.type.tensor_type.shape.dim[0].dim_param == "batch"


def test_a_graph_that_takes_no_other_size_is_left_alone(tmp_path):
    repair, output = repaired(tmp_path, "three")
    assert not repair.applied
    assert any("dynamic again" in each for each in repair.refused)
    assert onnx.load(output).graph.input[0].type.tensor_type.shape.dim[0].dim_value == 3


@pytest.fixture
def fixed_in_tflite(tmp_path):
    """A function of any batch, and the TFLite file that has its batch fixed at 3."""
    tf = pytest.importorskip("tensorflow")

    def function(batch):
        @tf.function(input_signature=[tf.TensorSpec([batch, 6], tf.float32, name="x")])
        def net(x):
            return tf.tanh(x @ WEIGHTS["w"])

        return net.get_concrete_function()

    converter = tf.lite.TFLiteConverter.from_concrete_functions([function(3)])
    candidate = tmp_path / "candidate.tflite"
    candidate.write_bytes(converter.convert() + b"\0" * 16)  # no writer of flatbuffers pads so
    return function(None), candidate, {"x": drawn(3, 6, seed=1)}


def test_no_repair_is_offered_that_the_format_cannot_hold(fixed_in_tflite):
    reference, candidate, given = fixed_in_tflite
    report = isomorph.check(reference, candidate, inputs=given, in_process=True)
    (finding,) = (each for each in report.findings if each.fact(Fact.FIXED_AXES))
    assert report.verdict == "equivalent"
    assert finding.fact(Fact.PATCHABLE) is False
    assert not repairable(finding)


def test_what_needs_no_repair_is_copied_byte_for_byte(fixed_in_tflite, tmp_path):
    reference, candidate, given = fixed_in_tflite
    output = tmp_path / "fixed.tflite"
    repair = api.fix(reference, candidate, inputs=given, output=output, in_process=True)
    assert (repair.applied, repair.refused) == ((), ()), "and nothing impossible is tried"
    assert output.read_bytes() == candidate.read_bytes()
    assert list(lines(repair))[-1] == f"nothing was changed; {output} is a copy of the candidate"

"""Where every quantizer cuts values off, each is named, and the first one comes first."""

import numpy as np

import isomorph
import tflite_faulty
from faulty import drawn, network
from isomorph.core.report import Fact

X = {"x": drawn(8, 6, seed=1)}
FIRST, SECOND = drawn(6, 5, seed=2), drawn(5, 4, seed=3)
FLOAT = network(
    "g (float[8,6] x) => (float[8,4] y) { [one] a = MatMul(x, w) [two] y = MatMul(a, v) }",
    w=FIRST, v=SECOND,
)  # fmt: skip


def quantized(scale_x, scale_a, scale_y, *, second=SECOND):
    """The network with a quantizer at each tensor, whose scales cut off what is too large."""
    nodes = []
    for name in ("x", "a", "y"):
        source = name if name == "x" else f"{name}0"
        nodes.append(f"[q_{name}] {name}q = QuantizeLinear({source}, s_{name}, zero)")
        target = "y" if name == "y" else f"{name}d"
        nodes.append(f"[d_{name}] {target} = DequantizeLinear({name}q, s_{name}, zero)")
    nodes.insert(2, "[one] a0 = MatMul(xd, w)")
    nodes.insert(5, "[two] y0 = MatMul(ad, v)")
    return network(
        f"g (float[8,6] x) => (float[8,4] y) {{ {' '.join(nodes)} }}",
        w=FIRST, v=second, zero=np.int8(0),
        s_x=np.float32(scale_x), s_a=np.float32(scale_a), s_y=np.float32(scale_y),
    )  # fmt: skip


def faults(candidate, reference=FLOAT, given=X):
    report = isomorph.check(reference, candidate, inputs=given, in_process=True)
    assert report.verdict == "divergent", report.reason
    return [each for each in report.findings if each.code == "GUILTY_NODE"]


def test_each_quantizer_of_a_wrong_calibration_is_named():
    found = faults(quantized(0.5 / 127, 0.5 / 127, 0.5 / 127))
    assert [each.node for each in found] == ["d_x", "d_a", "d_y"]
    assert {each.cause for each in found} == {"quantization"}
    assert all("clips" in each.summary for each in found)


def test_a_quantizer_that_fits_is_not_named():
    found = faults(quantized(0.5 / 127, 16 / 127, 0.5 / 127))
    assert [each.node for each in found] == ["d_x", "d_y"]


def test_a_wrong_weight_between_them_is_still_a_weight():
    wrong = SECOND.copy()
    wrong[2] += 4.0
    found = faults(quantized(4 / 127, 16 / 127, 60 / 127, second=wrong))
    assert [(each.node, each.cause, each.fact(Fact.CONSTANT)) for each in found] == [
        ("two", "weight", "v")
    ]


def test_of_a_grid_and_its_dequantizer_the_writer_is_named(tmp_path):
    reference, candidate = tmp_path / "reference.tflite", tmp_path / "candidate.tflite"
    reference.write_bytes(tflite_faulty.floats_of_eight_bits().data())
    wrong = tflite_faulty.eight_bits()
    tflite_faulty.too_narrow(wrong)
    candidate.write_bytes(wrong.data())
    found = faults(candidate, reference, {"x": tflite_faulty.IMAGE})
    assert [each.node for each in found] == ["QUANTIZE:0", "CONV_2D:1"], "and not DEQUANTIZE:2"
    assert [each.nodes for each in found] == [("QUANTIZE:0",), ("CONV_2D:1",)]

"""Repairs beyond one node of a float network: several faults, quantizers, outputs, randomness."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from tests.behavior.repair.test_repairs import CNN, IMAGE, MIXER, PAIR, ran

import faulty
from faulty import attribute, drawn, inputs, network, weight
from isomorph import api

QUANTIZED = network(
    "g (float[4,3,6,6] x) => (float[4,5,6,6] y) {"
    " [q] xq = QuantizeLinear(x, xs, xz)"
    " [dq] xd = DequantizeLinear(xq, xs, xz)"
    " [wdq] wd = DequantizeLinear<axis: int = 0>(wq, ws, wz)"
    " [conv] c = Conv<pads: ints = [1,1,1,1]>(xd, wd)"
    " [act] r = Relu(c)"
    " [rq] rq = QuantizeLinear(r, rs, rz)"
    " [rdq] y = DequantizeLinear(rq, rs, rz) }",
    xs=np.float32(8 / 255), xz=np.uint8(128), rs=np.float32(6 / 255), rz=np.uint8(0),
    wq=np.clip(np.round(drawn(5, 3, 3, 3) * 40), -127, 127).astype(np.int8),
    ws=np.full(5, 0.3 / 40, np.float32) * np.arange(1, 6, dtype=np.float32) / 3,
    wz=np.zeros(5, np.int8),
)  # fmt: skip


def unquantized(proto, channels=3):
    """The float network that was quantized."""
    weights = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    kernel = weights["wq"].astype(np.float32) * weights["ws"].reshape(-1, 1, 1, 1)
    return network(
        f"g (float[4,{channels},6,6] x) => (float[4,5,6,6] y) {{"
        " [conv] c = Conv<pads: ints = [1,1,1,1]>(x, k) [act] y = Relu(c) }",
        k=kernel,
    )


def fixed(tmp_path, clean, candidate, given, **more):
    """The repair of a candidate, and the path it was written to."""
    reference = faulty.saved(tmp_path, "reference", clean)
    path = faulty.saved(tmp_path, "candidate", candidate)
    output = tmp_path / "fixed.onnx"
    repair = api.fix(reference, path, output=output, inputs=given, in_process=True, **more)
    return repair, output


def test_several_faults_are_repaired_together(tmp_path):
    candidate = faulty.broken(CNN, attribute("norm", "epsilon", 1e-5))
    candidate = faulty.broken(candidate, attribute("pool", "count_include_pad", 0))
    candidate = faulty.broken(candidate, weight("w", lambda value: value[::-1]))
    repair, output = fixed(tmp_path, CNN, candidate, IMAGE)
    assert repair.repaired, repair.refused
    assert {each.finding.node for each in repair.applied} == {"norm", "pool", "dense"}
    np.testing.assert_allclose(
        ran(output, IMAGE)[0], ran(tmp_path / "reference.onnx", IMAGE)[0], rtol=1e-4, atol=1e-6
    )


def still_quantized(output):
    kinds = [node.op_type for node in onnx.load(output).graph.node]
    return (kinds.count("QuantizeLinear"), kinds.count("DequantizeLinear")) == (2, 3)


@pytest.mark.parametrize(
    "edit",
    [
        weight("rz", lambda _: np.uint8(40)),
        weight("rs", lambda _: np.float32(1.5 / 255)),
        weight("xs", lambda _: np.float32(2 / 255)),
    ],
    ids=["zero_point", "range_cut", "input_range_cut"],
)
def test_a_quantized_model_is_calibrated_again_and_stays_quantized(tmp_path, edit):
    candidate = faulty.broken(QUANTIZED, edit)
    given = {"x": drawn(4, 3, 6, 6)}
    repair, output = fixed(tmp_path, unquantized(QUANTIZED), candidate, given)
    assert repair.repaired, (repair.reason, repair.refused)
    assert repair.verdict == "degraded"
    assert still_quantized(output)


def test_the_axis_of_a_weights_scales_is_put_right(tmp_path):
    # An axis can only be mistaken for another of the same size.
    wide = np.clip(np.round(drawn(5, 5, 3, 3) * 40), -127, 127).astype(np.int8)
    square = faulty.broken(QUANTIZED, weight("wq", lambda _: wide))
    square.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5
    clean = unquantized(square, channels=5)
    candidate = faulty.broken(square, attribute("wdq", "axis", 1))
    repair, output = fixed(tmp_path, clean, candidate, {"x": drawn(4, 5, 6, 6)})
    assert repair.repaired, (repair.reason, repair.refused)
    assert still_quantized(output)


@pytest.mark.parametrize(("name", "factor"), [("xs2", 1.4), ("ws", 1.3), ("bs", 4.0)])
def test_of_three_scales_the_one_that_does_not_fit_the_others_is_put_right(tmp_path, name, factor):
    """Where quantizer and dequantizer disagree, the bias tells which of them the model means."""
    step, kernel_step = np.float32(5.0 / 255), np.float32(0.3 / 40)
    quantized = network(
        "g (float[4,3,6,6] x) => (float[4,5,6,6] y) {"
        " [q] xq = QuantizeLinear(x, xs, xz) [dq] xd = DequantizeLinear(xq, xs2, xz)"
        " [wdq] wd = DequantizeLinear(wq, ws, wz) [bdq] bd = DequantizeLinear(bq, bs, bz)"
        " [conv] c = Conv<pads: ints = [1,1,1,1]>(xd, wd, bd) [act] y = Relu(c) }",
        xs=step, xs2=step, xz=np.uint8(128), ws=kernel_step, wz=np.int8(0), bz=np.int32(0),
        wq=np.clip(np.round(drawn(5, 3, 3, 3) * 40), -127, 127).astype(np.int8),
        bq=(drawn(5) * 1000).astype(np.int32), bs=step * kernel_step,
    )  # fmt: skip
    weights = {t.name: numpy_helper.to_array(t) for t in quantized.graph.initializer}
    clean = network(
        "g (float[4,3,6,6] x) => (float[4,5,6,6] y)"
        " { [conv] c = Conv<pads: ints = [1,1,1,1]>(x, k, b) [act] y = Relu(c) }",
        k=weights["wq"].astype(np.float32) * kernel_step,
        b=weights["bq"].astype(np.float32) * weights["bs"],
    )
    candidate = faulty.broken(quantized, weight(name, lambda value: value * np.float32(factor)))
    repair, output = fixed(tmp_path, clean, candidate, {"x": np.clip(drawn(4, 3, 6, 6), -2.5, 2.5)})
    assert repair.repaired, (repair.reason, repair.refused)
    left = {t.name: numpy_helper.to_array(t) for t in onnx.load(output).graph.initializer}
    np.testing.assert_allclose(left[name], weights[name], rtol=1e-6)


def test_outputs_are_put_back_in_order(tmp_path):
    clean = network(
        "g (float[2,4] x) => (float[2,3] a, float[2,4] b) { [m] a = MatMul(x, w) [n] b = Tanh(x) }",
        w=drawn(4, 3),
    )
    repair, output = fixed(
        tmp_path, clean, faulty.broken(clean, faulty.swapped_outputs), {"x": drawn(2, 4)}
    )
    assert repair.repaired, repair.refused
    session = onnxruntime.InferenceSession(output, providers=["CPUExecutionProvider"])
    assert [each.name for each in session.get_outputs()] == ["a", "b"]


def test_dropout_left_in_training_mode_is_switched_off(tmp_path):
    clean = network(
        "g (float[2,8] x) => (float[2,8] y) { [m] a = MatMul(x, w) [n] y = Tanh(a) }",
        w=drawn(8, 8),
    )
    random = network(
        "g (float[2,8] x) => (float[2,8] y)"
        " { [m] a = MatMul(x, w) [drop] d = Dropout(a, rate, mode) [n] y = Tanh(d) }",
        w=drawn(8, 8), rate=np.float32(0.5), mode=np.array(True),
    )  # fmt: skip
    repair, output = fixed(tmp_path, clean, random, {"x": drawn(2, 8)})
    assert repair.repaired, repair.refused
    first, second = (ran(output, {"x": drawn(2, 8)})[0] for _ in range(2))
    assert np.array_equal(first, second)


def test_the_activation_of_a_fused_node_is_put_right(tmp_path):
    clean = network(
        "g (float[1,2,5,5] x) => (float[1,3,5,5] y)"
        " { [conv] c = Conv<pads: ints = [1,1,1,1]>(x, k, b) [act] y = Relu(c) }",
        k=drawn(3, 2, 3, 3), b=drawn(3),
    )  # fmt: skip
    fused = network(
        "g (float[1,2,5,5] x) => (float[1,3,5,5] y) { [fused] y = com.microsoft.FusedConv"
        '<pads: ints = [1,1,1,1], activation: string = "Tanh">(x, k, b) }',
        k=drawn(3, 2, 3, 3), b=drawn(3),
    )  # fmt: skip
    repair, output = fixed(tmp_path, clean, fused, {"x": drawn(1, 2, 5, 5)})
    assert repair.repaired, repair.refused
    (node,) = onnx.load(output).graph.node
    assert {a.name: helper.get_attribute_value(a) for a in node.attribute}["activation"] == b"Relu"


def test_a_parameter_of_a_spelled_out_operator_is_found_among_its_constants(tmp_path):
    clean = network(
        "g (float[3,6] x) => (float[3,6] y)"
        " { [n] y = LayerNormalization<axis: int = -1, epsilon: float = 0.01>(x, g1, b1) }",
        g1=1 + 0.1 * drawn(6), b1=drawn(6),
    )  # fmt: skip
    spelled = network(
        "g (float[3,6] x) => (float[3,6] y) {"
        " [mean] m = ReduceMean<keepdims: int = 1>(x, last) [center] d = Sub(x, m)"
        " [square] s = Mul(d, d) [variance] v = ReduceMean<keepdims: int = 1>(s, last)"
        " [safe] e = Add(v, eps) [root] r = Sqrt(e) [norm] n = Div(d, r)"
        " [gain] g2 = Mul(n, g1) [shift] y = Add(g2, b1) }",
        last=np.array([1]), eps=np.float32(0.001), g1=1 + 0.1 * drawn(6), b1=drawn(6),
    )  # fmt: skip
    repair, output = fixed(tmp_path, clean, spelled, {"x": drawn(3, 6)})
    assert repair.repaired, repair.refused
    weights = {t.name: numpy_helper.to_array(t) for t in onnx.load(output).graph.initializer}
    assert weights["eps"] == np.float32(0.01)


def test_a_spelled_out_approximation_of_gelu_is_made_exact(tmp_path):
    clean = network("g (float[3,6] x) => (float[3,6] y) { [m] t = Neg(x) [n] y = Gelu(t) }")
    spelled = network(
        "g (float[3,6] x) => (float[3,6] y) {"
        " [m] t = Neg(x) [cube] c = Pow(t, three) [small] k = Mul(c, cubic)"
        " [inner] i = Add(t, k) [scaled] a = Mul(i, root) [tanh] h = Tanh(a)"
        " [one] p = Add(h, unit) [half] f = Mul(t, point_five) [out] y = Mul(f, p) }",
        three=np.float32(3), cubic=np.float32(0.044715), root=np.float32(np.sqrt(2 / np.pi)),
        unit=np.float32(1), point_five=np.float32(0.5),
    )  # fmt: skip
    repair, output = fixed(tmp_path, clean, spelled, {"x": drawn(3, 6)})
    assert repair.repaired, (repair.reason, repair.refused)
    x = {"x": drawn(3, 6, seed=4)}
    np.testing.assert_allclose(
        ran(output, x)[0], ran(tmp_path / "reference.onnx", x)[0], rtol=1e-5, atol=1e-6
    )


def test_a_shared_constant_is_changed_for_the_faulty_node_alone(tmp_path):
    clean = network(
        "g (float[2,4] x) => (float[2,4] y)"
        " { [one] a = MatMul(x, w) [bend] b = Tanh(a) [two] y = MatMul(b, v) }",
        w=drawn(4, 4), v=drawn(4, 4, seed=1),
    )  # fmt: skip
    shared = faulty.broken(clean, inputs("two", "b", "w"))
    repair, output = fixed(tmp_path, clean, shared, {"x": drawn(2, 4)})
    assert repair.repaired, repair.refused
    np.testing.assert_allclose(
        ran(output, {"x": drawn(2, 4, seed=3)})[0],
        ran(tmp_path / "reference.onnx", {"x": drawn(2, 4, seed=3)})[0],
        rtol=1e-5,
    )


def test_what_fits_the_given_inputs_alone_is_refused(tmp_path):
    """On positive inputs every slope fits: the fresh ones tell."""
    clean = network(
        "g (float[2,4] x) => (float[2,4] y) { [a] s = Add(x, b) [bend] y = LeakyRelu(s) }",
        b=np.zeros(4, np.float32),
    )
    candidate = faulty.broken(clean, weight("b", lambda _: np.full(4, -1, np.float32)))
    given = {"x": np.abs(drawn(2, 4)) + 2}
    repair, output = fixed(tmp_path, clean, candidate, given)
    assert repair.repaired, repair.refused
    x = {"x": drawn(2, 4, seed=5)}
    np.testing.assert_allclose(
        ran(output, x)[0], ran(tmp_path / "reference.onnx", x)[0], rtol=1e-5, atol=1e-7
    )


def test_another_network_is_not_repaired_and_nothing_is_written(tmp_path):
    other = network(
        "g (float[2,6,6] x, float[2,6,6] s) => (float[2,6,6] y) {"
        " [a] t = Sin(x) [b] u = Mul(t, s) [c] e = Exp(u) [d] y = CumSum(e, axis) }",
        axis=np.array(1),
    )
    repair, output = fixed(tmp_path, MIXER, other, PAIR)
    assert not repair.repaired
    assert repair.exit_code == 1
    assert repair.output is None
    assert not output.exists()


def test_nothing_to_repair_is_reported_and_a_copy_is_written(tmp_path):
    repair, output = fixed(tmp_path, MIXER, MIXER, PAIR)
    assert repair.repaired
    assert not repair.applied
    assert repair.reason.startswith("nothing to repair")
    assert onnx.load(output) == onnx.load(tmp_path / "candidate.onnx")


def test_the_worst_node_of_a_quantized_model_is_kept_in_float(tmp_path):
    reference = faulty.saved(tmp_path, "reference", unquantized(QUANTIZED, channels=3))
    candidate = faulty.saved(tmp_path, "candidate", QUANTIZED)
    repair = api.fix(
        reference, candidate, inputs={"x": drawn(4, 3, 6, 6)}, keep_float=1, in_process=True
    )
    assert repair.repaired, (repair.reason, repair.refused)
    (kept,) = repair.trades[-1].nodes
    assert repair.trades[-1].relative_l2 < repair.trades[0].relative_l2
    assert repair.applied[0].finding.node == kept

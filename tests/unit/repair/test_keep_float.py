"""Nodes of a quantized model kept in float: QDQ pairs, integer operators, dynamic quantization."""

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)

import faulty
from faulty import drawn, network
from isomorph import api

UNEVEN = np.geomspace(0.05, 4, 6, dtype=np.float32).reshape(6, 1, 1, 1)
FLOAT = network(
    "g (float[4,3,8,8] x) => (float[4,5] y) {"
    " [c1] a = Conv<pads: ints = [1,1,1,1]>(x, k1, b1) [r1] b = Relu(a)"
    " [c2] c = Conv<pads: ints = [1,1,1,1]>(b, k2, b2) [r2] d = Relu(c) [ad] e = Add(b, d)"
    " [gp] f = GlobalAveragePool(e) [fl] h = Flatten(f) [mm] y = MatMul(h, w) }",
    k1=drawn(6, 3, 3, 3, scale=0.3), b1=drawn(6, scale=0.1), b2=drawn(6, scale=0.1, seed=2),
    k2=drawn(6, 6, 3, 3, scale=0.2) * UNEVEN, w=drawn(6, 5),
)  # fmt: skip


class Samples(CalibrationDataReader):
    def __init__(self):
        self._left = iter([{"x": drawn(4, 3, 8, 8, seed=seed)} for seed in range(4)])

    def get_next(self):
        return next(self._left, None)


def quantized(folder, how):
    source, result = str(faulty.saved(folder, "float", FLOAT)), str(folder / "quantized.onnx")
    if how == "dynamic":
        quantize_dynamic(source, result)
        return result
    quantize_static(
        source, result, Samples(), quant_format=QuantFormat[how], weight_type=QuantType.QInt8
    )
    return result


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["QDQ", "QOperator", "dynamic"])
def test_every_node_kept_brings_the_outputs_nearer(tmp_path, how):
    candidate = quantized(tmp_path, how)
    given = {"x": drawn(4, 3, 8, 8, seed=9)}
    repair = api.fix(
        tmp_path / "float.onnx", candidate, inputs=given, keep_float=6, in_process=True
    )
    errors = [trade.relative_l2 for trade in repair.trades]
    assert len(errors) > 2
    assert errors == sorted(errors, reverse=True)
    # What is left is the step of the output itself, which stays on its grid.
    assert errors[-1] < 0.7 * errors[0]
    assert {each.finding.node for each in repair.applied} == set(repair.trades[-1].nodes)


@pytest.mark.filterwarnings("ignore")
def test_a_stated_budget_ends_the_trade(tmp_path):
    candidate = quantized(tmp_path, "QOperator")
    given = {"x": drawn(4, 3, 8, 8, seed=9)}
    plain = api.check(tmp_path / "float.onnx", candidate, inputs=given, in_process=True)
    wanted = 0.9 * plain.outputs[0].observed.distance.max_abs
    output = tmp_path / "fixed.onnx"
    repair = api.fix(
        tmp_path / "float.onnx", candidate, inputs=given, keep_float="auto", budget=wanted,
        output=output, in_process=True,
    )  # fmt: skip
    assert repair.repaired, (repair.reason, repair.refused)
    assert repair.trades[0].verdict == "divergent"
    assert repair.trades[-1].verdict == "equivalent"
    kinds = [node.op_type for node in onnx.load(output).graph.node]
    assert any(kind.startswith("QLinear") for kind in kinds)


TWO_INPUTS = network(
    "g (float[4,8] a, float[4,8] b) => (float[4,5] y) {"
    " [ma] p = MatMul(a, v) [mb] q = MatMul(b, w) [ad] y = Add(p, q) }",
    v=drawn(8, 5) * np.geomspace(0.05, 4, 8, dtype=np.float32).reshape(8, 1), w=drawn(8, 5, seed=3),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_inputs_are_identified_by_name_not_by_place(tmp_path):
    source, result = str(faulty.saved(tmp_path, "two", TWO_INPUTS)), str(tmp_path / "q.onnx")
    quantize_dynamic(source, result, weight_type=QuantType.QUInt8)
    model = onnx.load(result)
    turned = list(reversed(model.graph.input))
    del model.graph.input[:]
    model.graph.input.extend(turned)
    onnx.save(model, result)
    given = {"a": drawn(4, 8, seed=5), "b": drawn(4, 8, scale=30, seed=6)}
    repair = api.fix(source, result, inputs=given, keep_float=2, in_process=True)
    errors = [trade.relative_l2 for trade in repair.trades]
    assert len(errors) > 1
    assert errors[-1] < 0.01 * errors[0]

"""A range that was halved in a quantizer and in its reader, beside ranges that clip on purpose."""

import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

SHAPE = (2, 8, 32)


def _sample(seed):
    return np.random.default_rng(seed).normal(size=SHAPE).astype(np.float32)


@pytest.fixture(scope="module")
def reference():
    random = np.random.default_rng(0)

    def normal(*shape):
        return (random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    stored = {
        "q": normal(32, 32), "k": normal(32, 32), "v": normal(32, 32), "o": normal(32, 32),
        "up": normal(32, 64), "down": normal(64, 32), "root": np.float32(32**-0.5),
    }  # fmt: skip
    node = helper.make_node
    nodes = [
        *(node("MatMul", ["x", each], [f"x{each}"], f"to {each}") for each in "qkv"),
        node("Transpose", ["xk"], ["kt"], "turned", perm=[0, 2, 1]),
        node("MatMul", ["xq", "kt"], ["s"], "scores"),
        node("Mul", ["s", "root"], ["r"], "scaled"),
        node("Softmax", ["r"], ["p"], "weights", axis=-1),
        node("MatMul", ["p", "xv"], ["c"], "mixed"),
        node("MatMul", ["c", "o"], ["co"], "projected"),
        node("Add", ["co", "x"], ["h"], "added"),
        node("MatMul", ["h", "up"], ["u"], "widened"),
        node("Relu", ["u"], ["ur"], "bent"),
        node("MatMul", ["ur", "down"], ["d"], "narrowed"),
        node("Add", ["d", "h"], ["y"], "added again"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, SHAPE)],
        [numpy_helper.from_array(value, name) for name, value in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


class _Samples:
    def __init__(self):
        self._left = iter([{"x": _sample(seed)} for seed in range(5, 17)])

    def get_next(self):
        return next(self._left, None)


def _quantized(folder, reference, method="MinMax", **extra):
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

    onnx.save(reference, folder / "net.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_static(
            str(folder / "net.onnx"), str(folder / "int8.onnx"), _Samples(),
            quant_format=QuantFormat.QDQ, weight_type=QuantType.QInt8, reduce_range=True,
            activation_type=QuantType.QUInt8, calibrate_method=CalibrationMethod[method],
            extra_options=extra,
        )  # fmt: skip
    return onnx.load(folder / "int8.onnx")


def _halved(model, name):
    changed = onnx.ModelProto.FromString(model.SerializeToString())
    (found,) = (each for each in changed.graph.initializer if each.name == name)
    found.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(found) / np.float32(2), name))
    return changed


@pytest.mark.parametrize("tensor", ["xq", "xk", "p"])
def test_a_halved_range_is_found(tmp_path, reference, tensor):
    """The outputs may lose as much; a quantizer behind a transposition has the same grid."""
    candidate = _halved(_quantized(tmp_path, reference), f"{tensor}_scale")
    report = isomorph.check(reference, candidate, inputs={"x": _sample(31)}, in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    assert report.findings[0].cause == "quantization"
    assert report.findings[0].tensors == (f"{tensor}_QuantizeLinear_Output",)


@pytest.mark.parametrize(
    ("method", "extra"),
    [
        ("MinMax", {}),
        ("Entropy", {}),
        ("Percentile", {}),
        ("Percentile", {"CalibPercentile": 99.9}),
    ],
)
def test_ranges_that_clip_rare_values_are_a_loss(tmp_path, reference, method, extra):
    candidate = _quantized(tmp_path, reference, method, **extra)
    for seed in (30, 31):
        given = {"x": _sample(seed)}
        report = isomorph.check(reference, candidate, inputs=given, in_process=True)
        assert report.verdict is isomorph.Verdict.DEGRADED, report.reason


def test_inputs_beyond_the_calibration_are_no_fault_of_a_range(tmp_path, reference):
    candidate = _quantized(tmp_path, reference)
    report = isomorph.check(reference, candidate, in_process=True)
    assert report.verdict is isomorph.Verdict.DEGRADED, report.reason

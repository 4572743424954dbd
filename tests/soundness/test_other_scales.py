"""Scales that are not those of the integers of a weight, beside roundings that are right."""

import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph

SHAPE = (2, 3, 8, 8)
GIVEN = {"x": np.random.default_rng(5).normal(size=SHAPE).astype(np.float32)}


def _weights():
    random = np.random.default_rng(0)

    def weight(*shape):
        return (random.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    return {
        "w0": weight(16, 3, 3, 3), "b0": weight(16),
        "w1": weight(16, 16, 3, 3), "b1": weight(16),
        "w2": weight(10, 16), "b2": weight(10),
    }  # fmt: skip


def _network(stored):
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["h0"], "first", pads=[1] * 4),
        helper.make_node("Relu", ["h0"], ["r0"], "rectified"),
        helper.make_node("Conv", ["r0", "w1", "b1"], ["h1"], "second", pads=[1] * 4),
        helper.make_node("Relu", ["h1"], ["r1"], "rectified again"),
        helper.make_node("GlobalAveragePool", ["r1"], ["g"], "mean"),
        helper.make_node("Flatten", ["g"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["y"], "scores", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 10])],
        [numpy_helper.from_array(value, name) for name, value in stored.items()],
    )
    opset = helper.make_opsetid("", 20)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9)


REFERENCE = _network(_weights())


class _Samples:
    def __init__(self):
        draws = (np.random.default_rng(seed).normal(size=SHAPE) for seed in range(5, 12))
        self._left = iter([{"x": draw.astype(np.float32)} for draw in draws])

    def get_next(self):
        return next(self._left, None)


def _converted(folder, model, **settings):
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    onnx.save(model, folder / "net.onnx")
    settings = {"quant_format": QuantFormat.QDQ, "reduce_range": True, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_static(
            str(folder / "net.onnx"), str(folder / "int8.onnx"), _Samples(),
            weight_type=QuantType.QInt8, activation_type=QuantType.QUInt8, **settings,
        )  # fmt: skip
    return onnx.load(folder / "int8.onnx")


@pytest.fixture(scope="module", params=["tensor", "channel", "operators"])
def quantized(request, tmp_path_factory):
    from onnxruntime.quantization import QuantFormat

    settings = {
        "tensor": {},
        "channel": {"per_channel": True},
        "operators": {"quant_format": QuantFormat.QOperator},
    }
    return _converted(tmp_path_factory.mktemp("int8"), REFERENCE, **settings[request.param])


def _changed(model, name, change):
    changed = onnx.ModelProto.FromString(model.SerializeToString())
    (found,) = (each for each in changed.graph.initializer if each.name == name)
    value = numpy_helper.to_array(found)
    found.CopyFrom(numpy_helper.from_array(change(value).astype(value.dtype), name))
    return changed


def _checked(candidate, reference=REFERENCE):
    return isomorph.check(reference, candidate, inputs=GIVEN, in_process=True)


@pytest.mark.parametrize("factor", [1.1, 0.97])
@pytest.mark.parametrize("weight", ["w0", "w1", "w2"])
def test_one_factor_of_all_scales_of_a_weight_is_found(quantized, weight, factor):
    report = _checked(_changed(quantized, f"{weight}_scale", lambda scale: scale * factor))
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    readers = {"w0": "first", "w1": "second", "w2": "scores"}
    assert any((found.node or "").startswith(readers[weight]) for found in report.findings)


def test_other_factors_of_all_scales_of_a_weight_are_found(tmp_path):
    model = _converted(tmp_path, REFERENCE, per_channel=True)
    factors = np.random.default_rng(2).uniform(0.96, 1.04, 16).astype(np.float32)
    report = _checked(_changed(model, "w1_scale", lambda scale: scale * factors))
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    assert "'w1_quantized'" in report.reason
    assert "times that of its integers" in report.reason


@pytest.mark.parametrize(("bias", "node"), [("b0", "first"), ("b2", "scores")])
def test_one_factor_of_a_bias_is_found(tmp_path, bias, node):
    model = _converted(tmp_path, REFERENCE)
    report = _checked(_changed(model, f"{bias}_quantized_scale", lambda scale: scale * 1.03))
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason
    assert node in [found.node for found in report.findings]


def test_a_zero_point_of_a_weight_that_is_one_off_is_found(tmp_path):
    model = _converted(tmp_path, REFERENCE, extra_options={"WeightSymmetric": False})
    assert _checked(model).verdict is isomorph.Verdict.DEGRADED
    report = _checked(_changed(model, "w1_zero_point", lambda zero: zero + 1))
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.reason


def test_the_right_scales_are_a_loss(quantized):
    assert _checked(quantized).verdict is isomorph.Verdict.DEGRADED


def test_learned_roundings_are_a_loss(tmp_path):
    """A third of the numbers is rounded to the other of the two nearest integers."""
    model = _converted(tmp_path, REFERENCE, per_channel=True)
    random = np.random.default_rng(8)
    for name in ("w0", "w1", "w2"):
        real = _weights()[name]
        (scale,) = (e for e in model.graph.initializer if e.name == f"{name}_scale")
        steps = real / numpy_helper.to_array(scale).reshape([-1] + [1] * (real.ndim - 1))
        other = np.clip(np.floor(steps) + np.ceil(steps) - np.rint(steps), -64, 63)
        learned = random.random(real.shape) < 1 / 3
        model = _changed(
            model,
            f"{name}_quantized",
            lambda whole, other=other, learned=learned: np.where(learned, other, whole),
        )
    report = _checked(model)
    assert report.verdict is isomorph.Verdict.DEGRADED, report.reason


@pytest.mark.parametrize("factors", ["equalized", "one"])
def test_factors_that_move_to_the_next_weight_are_a_loss(tmp_path, factors):
    """Cross-layer equalization: channels of one weight are scaled, and the next one back."""
    stored = _weights()
    by = np.linspace(0.9, 1.1, 16) if factors == "equalized" else np.full(16, 1.05)
    by = by.astype(np.float32)
    stored["w0"] = stored["w0"] * by.reshape(16, 1, 1, 1)
    stored["b0"] = stored["b0"] * by
    stored["w1"] = stored["w1"] / by.reshape(1, 16, 1, 1)
    model = _converted(tmp_path, _network(stored), per_channel=True)
    report = _checked(model)
    assert report.verdict is isomorph.Verdict.DEGRADED, report.reason

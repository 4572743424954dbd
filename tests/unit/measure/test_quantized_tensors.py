"""The quantization table on forms that ONNX Runtime's own tools made."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import api
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Quantization
from isomorph.measure import quantized_tensors
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.quantization_grid import Grid


@pytest.fixture(scope="module")
def inputs():
    return {"x": np.random.default_rng(5).standard_normal((2, 3, 8, 8)).astype(np.float32)}


def checked(reference, candidate, inputs, **words):
    return api.check(reference, candidate, inputs=inputs, in_process=True, **words)


def rows(report):
    return {row.tensor: row for row in report.quantization}


def unmeasured(report):
    """What was left out; a candidate of lower precision is not probed, which is listed."""
    return [each.what for each in report.skipped if each.what != "single nodes on other values"]


def edited(path, name, change):
    model = onnx.load(path)
    tensor = next(each for each in model.graph.initializer if each.name == name)
    array = change(numpy_helper.to_array(tensor)).astype(numpy_helper.to_array(tensor).dtype)
    tensor.CopyFrom(numpy_helper.from_array(array, name))
    return model


@pytest.mark.parametrize(
    ("form", "kinds"),
    [
        ("qdq", {"weight": 4, "activation": 7}),
        ("qop", {"weight": 3, "activation": 7}),
        ("dynamic", {"weight": 3, "dynamic": 3}),
    ],
)
def test_every_quantized_tensor_is_measured(quantized_networks, inputs, form, kinds):
    report = checked(quantized_networks / "net.onnx", quantized_networks / f"{form}.onnx", inputs)
    found = list(report.quantization)
    assert {kind: sum(row.kind == kind for row in found) for kind in kinds} == kinds
    assert len(found) == sum(kinds.values())
    assert unmeasured(report) == []
    for row in found:
        assert row.clipped == pytest.approx(0.0, abs=0.01), row
        assert row.representable[0] <= row.seen[1], row
        assert row.sqnr_db > 20, row
        if row.dtype != "int32":
            assert row.lost_db < 12.0, row
        assert (row.local_quanta is None) == (row.kind == "weight"), row
        assert row.local_quanta in {None, 0.0, 1.0}, row


def test_integer_kernels_and_float_ones_show_the_same_values(quantized_networks):
    """QLinearConv hides what it rounds; the QDQ form of the same network shows it."""
    # So many that a signal-to-noise ratio of ten outputs each is more than chance.
    inputs = {"x": np.random.default_rng(5).standard_normal((32, 3, 8, 8)).astype(np.float32)}
    net = quantized_networks / "net.onnx"
    shown = rows(checked(net, quantized_networks / "qdq.onnx", inputs))
    hidden = rows(checked(net, quantized_networks / "qop.onnx", inputs))
    for plain, fused in (("c2_QuantizeLinear_Output", "c2_quantized"),
                         ("y_QuantizeLinear_Output", "y_quantized")):  # fmt: skip
        one, other = shown[plain], hidden[fused]
        assert one.scale == pytest.approx(other.scale)
        assert one.seen == pytest.approx(other.seen, abs=3 * one.scale[0])
        assert one.sqnr_db == pytest.approx(other.sqnr_db, abs=3.0)


def test_a_scale_too_small_clips_and_stands_first(quantized_networks, inputs):
    faulty = edited(quantized_networks / "qdq.onnx", "c2_scale", lambda s: s / 4)
    report = checked(quantized_networks / "net.onnx", faulty, inputs)
    worst = report.quantization[0]
    assert worst.tensor == "c2_QuantizeLinear_Output"
    assert worst.clipped > 0.05
    assert worst.lost_db > 10
    against = checked(quantized_networks / "qdq.onnx", faulty, inputs).quantization
    assert [row.tensor for row in against if row.changed] == ["c2_QuantizeLinear_Output"]
    assert against[0].changed == ("scale",)
    assert against[0].counterpart == "c2_QuantizeLinear_Output"


@pytest.mark.parametrize(("place", "field"), [(1, "scale"), (2, "zero_point")])
def test_a_reader_that_disagrees_with_the_writer_stands_first(
    quantized_networks, inputs, place, field
):
    model = onnx.load(quantized_networks / "qdq.onnx")
    reader = next(n for n in model.graph.node if n.name == "c2_DequantizeLinear")
    values = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    right = values[reader.input[place]]
    wrong = right * np.float32(1.4) if field == "scale" else right - np.uint8(20)
    model.graph.initializer.append(numpy_helper.from_array(wrong, "other"))
    reader.input[place] = "other"
    report = checked(quantized_networks / "net.onnx", model, inputs)
    first, written = (
        row for row in report.quantization if row.tensor == "c2_QuantizeLinear_Output"
    )
    assert report.quantization[0] is first
    assert (first.misread, written.misread) == ((field,), ())
    assert first.sqnr_db < 15
    assert written.sqnr_db > 30
    assert first.clipped == written.clipped
    described = api.diff(quantized_networks / "qdq.onnx", model, in_process=True)
    moved = [pair for pair in described.quantization if pair.changed]
    assert [(pair.candidate.tensor, pair.changed) for pair in moved] == [
        ("c2_QuantizeLinear_Output", (field,))
    ]


def test_steps_inside_a_kernel_do_not_count_against_it(tmp_path):
    """A weight that stays quantized before a float result means a quantizer inside."""
    draw = np.random.default_rng(0)
    weights = {"w": draw.integers(-90, 90, (6, 5)).astype(np.int8), "s": np.float32(0.01),
               "z": np.int8(0), "g": np.float32(0.05), "h": np.uint8(128)}  # fmt: skip
    nodes = [
        helper.make_node("DynamicQuantizeMatMul", ["x", "w", "s", "z"], ["m"],
                         domain="com.microsoft"),
        helper.make_node("QuantizeLinear", ["m", "g", "h"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "g", "h"], ["y"]),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "m.onnx")
    report = api.check(tmp_path / "m.onnx", in_process=True)
    found = rows(report)
    assert set(found) == {"w", "q"}
    assert found["q"].sqnr_db > 10
    assert found["q"].local_quanta is None


def test_a_wrong_weight_scale_shows_against_the_float_weight(quantized_networks, inputs):
    faulty = edited(quantized_networks / "qop.onnx", "w2_scale", lambda s: s * 1.25)
    report = checked(quantized_networks / "net.onnx", faulty, inputs)
    worst = report.quantization[0]
    assert worst.tensor == "w2_quantized"
    assert worst.sqnr_db == pytest.approx(12.0, abs=1.0)
    assert worst.ideal_sqnr_db > 40


def test_without_a_reference_a_weight_has_a_range_and_no_loss(quantized_networks, inputs):
    report = api.check(quantized_networks / "qop.onnx", inputs=inputs, in_process=True)
    weight, activation = rows(report)["w2_quantized"], rows(report)["c2_quantized"]
    assert 0.4 < weight.used < 0.51  # 7 bits of 8
    assert (weight.sqnr_db, weight.clipped) == (None, None)
    assert activation.sqnr_db > 20


def test_many_tensors_are_listed_and_measured_only_when_asked(
    quantized_networks, inputs, monkeypatch
):
    monkeypatch.setattr(quantized_tensors, "QUANTIZED_TENSORS", 3)
    pair = quantized_networks / "net.onnx", quantized_networks / "qop.onnx"
    listed = checked(*pair, inputs)
    assert unmeasured(listed) == ["the quantization table"]
    assert len(listed.quantization) == 10
    assert all(row.sqnr_db is None and row.scale[0] > 0 for row in listed.quantization)
    asked = checked(*pair, inputs, options=api.CheckOptions(quantization=True))
    assert unmeasured(asked) == []
    assert all(row.sqnr_db is not None for row in asked.quantization)
    assert checked(*pair, inputs, options=api.CheckOptions(quantization=False)).quantization == ()


@pytest.mark.parametrize(
    ("form", "name", "change"),
    [
        ("qdq", "c2_scale", lambda scale: scale * 30),
        ("qdq", "w2_quantized", lambda weight: weight // 16 * 16 + 4),
        ("qop", "w2_quantized", lambda weight: weight // 16 * 16 + 4),
        ("dynamic", "w2_quantized", lambda weight: weight // 16 * 16 + 4),
    ],
)
def test_the_one_bad_quantizer_is_confirmed_in_float(
    quantized_networks, inputs, form, name, change
):
    faulty = edited(quantized_networks / f"{form}.onnx", name, change)
    report = checked(
        quantized_networks / "net.onnx", faulty, inputs, options=api.CheckOptions(quantization=True)
    )
    gains = {row.tensor: row.gain for row in report.quantization if row.gain is not None}
    worst = max(gains, key=gains.get)
    assert worst.startswith(name.partition("_")[0])
    assert gains.pop(worst) > 0.5
    assert max(gains.values()) < 0.3


def test_a_grid_that_does_the_work_of_a_relu_does_it_in_float_too():
    values = np.array([-3.0, -0.2, 0.26, 9.0])
    entry = Quantization(tensor="t", dtype="uint8", scale=(0.1,), zero_point=(0,))
    assert Grid(entry).rectified(values).tolist() == [0.0, 0.0, 0.26, 9.0]
    below = replace(entry, zero_point=(255,))
    assert Grid(below).rectified(values).tolist() == [-3.0, -0.2, 0.0, 0.0]
    around = replace(entry, zero_point=(128,))
    assert Grid(around).rectified(values).tolist() == values.tolist()


def test_no_tensor_is_tried_in_float_unless_asked(quantized_networks, inputs):
    report = checked(quantized_networks / "net.onnx", quantized_networks / "qdq.onnx", inputs)
    assert [row.gain for row in report.quantization if row.gain is not None] == []
    alone = api.check(
        quantized_networks / "qdq.onnx",
        inputs=inputs,
        in_process=True,
        options=api.CheckOptions(quantization=True),
    )
    assert alone.quantization
    assert [row.gain for row in alone.quantization if row.gain is not None] == []


class Off:
    """The runtime, with one tensor three steps off, or with no answer at all."""

    def __init__(self, session, tensor):
        self.session, self.tensor = session, tensor

    def run(self, feeds, fetch, *, noise=None):
        if self.tensor is None:
            raise RuntimeFailedError("RUNTIME_CRASHED", "the runtime died")
        right = self.session.run(feeds, [self.tensor])[self.tensor]
        off = np.where(right < 128, right + 3, right - 3).astype(right.dtype)
        return self.session.run({**feeds, self.tensor: off}, fetch, noise=noise)


@pytest.fixture
def evaluated(quantized_networks, inputs):
    from isomorph.core.trace import Environment
    from isomorph.sessions.in_process import InProcessHost

    host = InProcessHost()
    model = host.load(str(quantized_networks / "qop.onnx"), "onnx", {})

    def opened(runtime, **settings):
        return host.open(model, Environment(runtime=runtime, settings=settings))

    yield SimpleNamespace(model=model, oracle=opened("onnx_oracle"), inputs=inputs)
    host.close()


@pytest.mark.parametrize("tensor", ["c2_quantized", None])
def test_a_kernel_that_misses_its_grid_is_seen_at_its_own_tensor(evaluated, tensor):
    # The oracle stands in for a runtime without any error of its own.
    alone = EvaluatedModel(
        role="candidate", model=evaluated.model, feeds=evaluated.inputs, seed=0,
        runtime=lambda: evaluated.oracle, oracle=lambda: evaluated.oracle,
        plain=lambda: Off(evaluated.oracle, tensor),
    )  # fmt: skip
    found, skipped = quantized_tensors.table(alone, None)
    if tensor is None:
        assert "the runtime died" in skipped[0].why
        assert all(row.local_quanta is None for row in found)
        return
    assert not skipped
    assert (found[0].tensor, found[0].local_quanta) == ("c2_quantized", 3.0)
    others = [row.local_quanta for row in found[1:] if row.kind == "activation"]
    assert others == [0.0] * len(others)


def test_a_factor_that_was_worked_into_a_weight_is_stated_and_clips_nothing():
    draw = np.random.default_rng(0)
    weight = draw.standard_normal((8, 8)).astype(np.float32)
    step = np.float32(np.abs(weight).max() / 127 / 8)
    stored = np.rint(weight / 8 / step).astype(np.int8)
    reference = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Mul", ["p", "s"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.float32(0.125), "s")],
    )
    candidate = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["q", "step"], ["w"]),
            helper.make_node("MatMul", ["x", "w"], ["y"]),
        ],
        "g",
        list(reference.input),
        list(reference.output),
        [numpy_helper.from_array(stored, "q"), numpy_helper.from_array(step, "step")],
    )
    models = [
        helper.make_model(each, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        for each in (reference, candidate)
    ]
    (row,) = checked(*models, {"x": draw.standard_normal((4, 8)).astype(np.float32)}).quantization
    assert row.factor == 0.125
    assert row.clipped == 0.0
    assert row.lost_db < 6.0

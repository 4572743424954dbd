"""A node that is wrong by itself, in a model that may lose more than it does to the outputs."""

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.model import Node
from isomorph.localize import quantization_faults

RNG = np.random.default_rng(3)
FIRST = RNG.standard_normal((12, 16))
SECOND = RNG.standard_normal((16, 6))
SECOND[5] *= 0.01  # hardly any output listens to the sixth unit
X = RNG.standard_normal((4, 12)).astype(np.float32)


def _saved(path, nodes, constants):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 6])],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path
    )
    return path


def _plain(path, first=FIRST):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "v"], ["y"], name="second"),
    ]
    return _saved(path, nodes, {"w": first.astype("f4"), "v": SECOND.astype("f4")})


def _quantized(path, scales_times, first=FIRST):
    """Both weights by column, the hidden tensor, and what the second product reads, in 8 bits."""
    constants = {}
    for name, weight in (("w", first), ("v", SECOND)):
        step = (np.abs(weight).max(axis=0) / 127).astype("f4")
        times = scales_times if name == "w" else 1.0
        constants[f"{name}_q"] = np.rint(weight / step).astype(np.int8)
        constants[f"{name}_s"] = (step * times).astype("f4")
        constants[f"{name}_z"] = np.zeros(len(step), np.int8)
    constants |= {"h_s": np.float32(0.15), "h_z": np.int8(0)}
    nodes = [
        helper.make_node("DequantizeLinear", ["w_q", "w_s", "w_z"], ["w"], name="w", axis=1),
        helper.make_node("DequantizeLinear", ["v_q", "v_s", "v_z"], ["v"], name="v", axis=1),
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("QuantizeLinear", ["h", "h_s", "h_z"], ["hq"], name="q"),
        helper.make_node("DequantizeLinear", ["hq", "h_s", "h_z"], ["hd"], name="d"),
        helper.make_node("Relu", ["hd"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "v"], ["y"], name="second"),
    ]
    return _saved(path, nodes, constants)


@pytest.fixture
def plain(tmp_path):
    return _plain(tmp_path / "plain.onnx")


def test_a_scale_that_few_outputs_listen_to_is_found_named_and_repaired(tmp_path, plain):
    times = np.where(np.arange(16) == 5, 3.0, 1.0)
    broken = _quantized(tmp_path / "broken.onnx", times)
    report = isomorph.check(plain, broken, inputs={"x": X}, in_process=True)
    assert report.outputs[0].intended_loss.budget.ratio < 1, "the outputs alone would tell"
    assert report.verdict == "divergent", report.reason
    assert "within the expected loss" in report.reason
    found = report.findings[0]
    assert (found.node, found.cause) == ("first", "quantization")
    repair = isomorph.fix(
        plain, broken, output=tmp_path / "fixed.onnx", inputs={"x": X}, in_process=True
    )
    assert repair.repaired, repair.reason


def test_without_looking_for_nodes_the_outputs_and_the_weights_decide(tmp_path, plain):
    times = np.where(np.arange(16) == 5, 3.0, 1.0)
    broken = _quantized(tmp_path / "broken.onnx", times)
    report = isomorph.check(
        plain, broken, inputs={"x": X}, in_process=True, options=isomorph.CheckOptions(locate=False)
    )
    assert report.outputs[0].verdict == "degraded", "no output is beyond its loss"
    assert report.verdict == "divergent", "a channel of the weight is"
    found = report.findings[0]
    assert (found.code, found.cause) == ("CONSTANT_DIFFERS", "quantization")
    assert "w_s" in found.tensors, "the scale is wrong, and not the integers"


def test_a_right_loss_stays_one(tmp_path, plain):
    clean = _quantized(tmp_path / "clean.onnx", 1.0)
    report = isomorph.check(plain, clean, inputs={"x": X}, in_process=True)
    assert report.verdict == "degraded", report.reason


def _up_to(path, end):
    """The hidden tensor in 16 bits, cut off at that number."""
    model = onnx.load(path)
    model.opset_import[0].version = 21
    grid = {"h_s": np.float32(end / 32767), "h_z": np.int16(0)}
    for stored in model.graph.initializer:
        if stored.name in grid:
            stored.CopyFrom(numpy_helper.from_array(np.asarray(grid[stored.name]), stored.name))
    onnx.save(model, path)
    return path


def test_a_grid_that_was_fitted_to_other_samples_is_a_loss(tmp_path):
    wide = np.where(np.arange(16) == 5, 6.0 * FIRST, FIRST)
    plain = _plain(tmp_path / "plain.onnx", wide)
    cut = _up_to(_quantized(tmp_path / "cut.onnx", 1.0, wide), 12)
    report = isomorph.check(plain, cut, inputs={"x": X}, in_process=True)
    assert report.outputs[0].intended_loss.budget.ratio < 1, "the outputs alone would tell"
    assert report.verdict == "degraded", report.reason


def test_one_place_may_lose_most_of_it_if_not_more_than_its_own(tmp_path, plain):
    cut = _up_to(_quantized(tmp_path / "cut.onnx", 1.0), 8)
    report = isomorph.check(plain, cut, inputs={"x": X}, in_process=True)
    assert report.outputs[0].intended_loss.budget.ratio > 1, "the outputs alone would tell"
    assert report.verdict == "degraded", report.reason


def test_a_range_that_is_far_too_narrow_is_found(tmp_path, plain):
    cut = _up_to(_quantized(tmp_path / "cut.onnx", 1.0), 4)
    report = isomorph.check(plain, cut, inputs={"x": X}, in_process=True)
    assert report.verdict == "divergent", report.reason
    assert report.findings[0].cause == "quantization"


class _Below:
    """The topology of a graph in which a convolution is bent by an activation."""

    @staticmethod
    def below(names):
        return {"bent"} if "convolved" in names else set()


@pytest.mark.parametrize(
    ("held", "counterpart", "match"), [("bent", "convolved", True), ("convolved", "bent", False)]
)
def test_an_activation_that_is_built_into_a_layer_is_no_operator_lost(held, counterpart, match):
    """The search has put the right values in place of the tensor, which therefore has no noise."""
    convolved = np.random.default_rng(0).normal(size=400)
    values = {"convolved": convolved, "bent": np.maximum(convolved, 0.0)}
    prints = {name: SimpleNamespace(elements=400, rms=1.0) for name in (*values, "layer")}
    noise = 1e-3 * np.random.default_rng(1).normal(size=400)
    drawn = SimpleNamespace(rms=1e-3)
    matcher = SimpleNamespace(
        reference=SimpleNamespace(values=values, prints=prints, topology=_Below()),
        candidate=SimpleNamespace(
            values={"layer": values[held] + noise}, prints=prints, drawn=lambda *_: drawn
        ),
        tolerance=lambda *_: 1e-13,
    )
    fault = SimpleNamespace(tensor="layer", counterpart=counterpart)
    assert quantization_faults._has_match(matcher, fault) is match


@pytest.mark.parametrize(("dtype", "beyond"), [("float32", False), ("float64", True)])
def test_what_draws_do_not_move_may_be_off_by_the_rounding_of_its_type(dtype, beyond):
    """A tensor computed among constants is held in its declared type, and no draw moves it."""
    right = np.random.default_rng(0).normal(size=64)
    held = right.astype(np.float32).astype(np.float64)
    drawn = SimpleNamespace(rms=0.0, freedom=np.inf, center=held)
    matcher = SimpleNamespace(
        reference=SimpleNamespace(spread={"table": 0.0}),
        candidate=SimpleNamespace(
            values={"table": held},
            drawn=lambda *_: drawn,
            graph=SimpleNamespace(declared_dtype=lambda _: dtype),
        ),
    )
    fault = SimpleNamespace(tensor="table", counterpart="table", value=right)
    assert quantization_faults._beyond(matcher, fault, grids=True) is beyond


@pytest.mark.parametrize(
    ("op", "alpha", "error", "unlike"),
    [
        ("LeakyRelu", 0.3, 6.0, True),
        ("LeakyRelu", 0.2, 6.0, False),
        ("LeakyRelu", 0.3, 3.0, False),
        ("Elu", 0.3, 6.0, False),
    ],
    ids=["another slope", "the same slope", "within its noise", "another operator"],
)
def test_no_quantizer_changes_a_number(op, alpha, error, unlike):
    """A tensor off by little more than its noise, which without quantizers is within it."""
    right, noise = np.zeros(64), 1e-3

    def side(operator, number, value):
        node = Node(
            name="n", op=operator, native_op=operator, inputs=("x",), outputs=("t",),
            attributes={"alpha": number},
        )  # fmt: skip
        drawn = SimpleNamespace(rms=noise, freedom=np.inf, center=right)
        return SimpleNamespace(
            graph=SimpleNamespace(tensors={}), topology=SimpleNamespace(maker={"t": node}),
            values={"t": np.full(64, value)}, spread={"t": 0.0}, drawn=lambda *_: drawn,
        )  # fmt: skip

    matcher = SimpleNamespace(
        reference=side("LeakyRelu", 0.2, 0.0),
        candidate=side(op, alpha, error * noise),
        tolerance=lambda *_: 5.0 * noise,
    )
    fault = SimpleNamespace(tensor="t", counterpart="t", value=right)
    assert quantization_faults._states_another_number(matcher, fault) is unlike
    assert quantization_faults._lost_on_its_grids(matcher, fault)


def _behind(moved):
    """A fault in q, and t behind it, right up to its noise; ``moved`` is t with q corrected."""
    right = RNG.standard_normal((20, 20))
    sizes = SimpleNamespace(elements=right.size, rms=1.0)
    side = {
        "prints": {"t": sizes, "q": sizes},
        "spread": {"t": 0.01, "q": 0.01},
        "graph": SimpleNamespace(nodes=[SimpleNamespace(outputs=("q",), name="n"),
                                        SimpleNamespace(outputs=("t",), name="m")]),
    }  # fmt: skip
    own = right + 0.01 * RNG.standard_normal(right.shape)
    candidate = SimpleNamespace(
        values={"q": right, "t": own},
        topology=SimpleNamespace(below=lambda names: {"t"}),
        fetched=lambda name, given: moved(right, own),
        **side,
    )
    reference = SimpleNamespace(values={"t": right}, **side)
    matcher = SimpleNamespace(
        reference=reference, candidate=candidate, tolerance=lambda ref, cand: 0.1
    )
    return matcher, SimpleNamespace(tensor="q", value=right)


@pytest.mark.parametrize(
    ("moved", "wrong"),
    [
        (lambda right, own: own, False),
        (lambda right, own: right, False),
        (lambda right, own: right + 0.01 * RNG.standard_normal(right.shape), False),
        (lambda right, own: own + 0.03 * RNG.standard_normal(right.shape), True),
        (lambda right, own: 3.0 * own, True),
    ],
    ids=["as it was", "exact", "other noise", "off by three noises", "scaled"],
)
def test_a_correction_that_moves_a_right_tensor_away_corrects_nothing(moved, wrong):
    assert quantization_faults.makes_right_wrong(*_behind(moved)) is wrong


def test_without_a_right_tensor_behind_it_a_correction_is_not_judged():
    matcher, fault = _behind(lambda right, own: 3.0 * own)
    matcher.candidate.values["t"] = matcher.candidate.values["t"] + 1.0
    assert not quantization_faults.makes_right_wrong(matcher, fault)

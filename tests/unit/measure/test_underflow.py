"""An epsilon that float16 cannot tell from zero: a price of the type, or an infinity."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.divergence import Verdict
from isomorph.reporters._findings import repairable

WEIGHT = np.random.default_rng(0).normal(size=(16, 16)).astype(np.float32) / 4
LEAST = 2.0**-24
OPSETS = [helper.make_opsetid("", 18)]


def _log_power(path, weight, epsilon, kind=np.float32):
    """log((x·W)² + ε), scaled to its own range; inputs and outputs in float32."""
    first, last = ("x", "y") if kind is np.float32 else ("half", "out")
    nodes = [
        helper.make_node("MatMul", [first, "w"], ["p"], "project"),
        helper.make_node("Mul", ["p", "p"], ["power"], "square"),
        helper.make_node("Add", ["power", "epsilon"], ["shifted"], "shift"),
        helper.make_node("Log", ["shifted"], ["logs"], "log"),
        helper.make_node("Mul", ["logs", "k"], [last], "scale"),
    ]
    if kind is not np.float32:
        nodes = [
            helper.make_node("Cast", ["x"], ["half"], "narrow", to=TensorProto.FLOAT16),
            *nodes,
            helper.make_node("Cast", ["out"], ["y"], "widen", to=TensorProto.FLOAT),
        ]
    constants = {"w": weight, "epsilon": np.array([epsilon]), "k": np.array([0.125])}
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 16])],
        [numpy_helper.from_array(value.astype(kind), name) for name, value in constants.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=OPSETS, ir_version=10), path)
    return path


@pytest.fixture
def checked(tmp_path):
    """Checks the model in float16 with another epsilon and weight, on rows that nearly vanish."""

    def check(epsilon, weight=WEIGHT, original=1e-10):
        sides = (
            _log_power(tmp_path / "wide.onnx", WEIGHT, original),
            _log_power(tmp_path / "narrow.onnx", weight, epsilon, np.float16),
        )
        x = np.random.default_rng(1).normal(size=(4, 16)).astype(np.float32)
        x[2:] *= 2e-5
        x[3] = 0.0
        report = isomorph.check(*sides, inputs={"x": x}, in_process=True)
        return report, {finding.code: finding for finding in report.findings}

    return check


@pytest.mark.parametrize("steps", [1, 2], ids=["onnxruntime", "onnxconverter-common"])
def test_the_smallest_number_instead_of_an_epsilon_is_a_loss_with_a_name(checked, steps):
    report, found = checked(steps * LEAST)
    assert report.verdict is Verdict.DEGRADED
    finding = found["CONSTANT_UNDERFLOW"]
    assert (finding.node, finding.cause, finding.evidence["constant"]) == (
        "shift",
        "precision",
        "epsilon",
    )
    assert "1e-10 is stored as" in finding.summary
    assert finding.fix
    assert not repairable(finding), "no patch changes the type of a constant"
    assert "CONSTANT_DIFFERS" not in found


def test_an_epsilon_of_zero_makes_an_infinity_and_is_named(checked):
    report, found = checked(0.0)
    assert report.verdict is Verdict.DIVERGENT
    assert found["CONSTANT_UNDERFLOW"].node == "shift"
    assert "infinite" in found["CONSTANT_UNDERFLOW"].summary
    assert "GUILTY_NODE" not in found


@pytest.mark.parametrize("epsilon", [4 * LEAST, 1e-5, -LEAST])
def test_another_number_is_no_underflow(checked, epsilon):
    report, found = checked(epsilon)
    assert report.verdict is Verdict.DIVERGENT
    assert "CONSTANT_UNDERFLOW" not in found


def test_an_epsilon_that_the_type_holds_excuses_nothing(checked):
    report, found = checked(LEAST, original=1e-5)
    assert report.verdict is Verdict.DIVERGENT
    assert "CONSTANT_UNDERFLOW" not in found


def test_a_wrong_weight_beside_it_is_found(checked):
    weight = WEIGHT.copy()
    weight[3, 5] *= 1.1
    report, _ = checked(LEAST, weight)
    assert report.verdict is Verdict.DIVERGENT
    assert any("project" in (each.node or "") for each in report.findings)

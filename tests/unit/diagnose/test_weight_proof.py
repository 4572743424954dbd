"""A wrong weight is proven by its own numbers; any doubt is left to the search by values."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.errors import IsomorphError
from isomorph.localize import locate as locate_module
from isomorph.localize.weight_findings import ComparedWeights

LAYERS, SIZE = 8, 12
INPUTS = {"x": np.random.default_rng(1).normal(size=(3, SIZE)).astype(np.float32)}


def network(change=None, *, slope=0.1):
    """Eight dense layers with biases, and one beside the first; ``change`` edits the weights."""
    drawn = np.random.default_rng(0)
    stored = {}
    for n in range(LAYERS):
        weight = drawn.normal(size=(SIZE, SIZE)) / np.sqrt(SIZE)
        stored[f"w{n}"] = weight.astype(np.float32)
        stored[f"b{n}"] = drawn.normal(size=SIZE).astype(np.float32)
    stored["beside"] = (drawn.normal(size=(SIZE, SIZE)) / np.sqrt(SIZE)).astype(np.float32)
    if change is not None:
        change(stored)
    nodes = [helper.make_node("MatMul", ["x", "beside"], ["side"], name="beside")]
    last = "x"
    for n in range(LAYERS):
        end = "y" if n == LAYERS - 1 else f"t{n}"
        if n == 1:
            nodes.append(helper.make_node("Add", [last, "side"], ["sum"], name="sum"))
            last = "sum"
        inputs = [last, f"w{n}", f"b{n}"]
        nodes.append(helper.make_node("Gemm", inputs, [f"g{n}"], name=f"gemm{n}"))
        alpha = slope if n == 5 else 0.1
        nodes.append(helper.make_node("LeakyRelu", [f"g{n}"], [end], name=f"relu{n}", alpha=alpha))
        last = end
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", TensorProto.FLOAT, [3, SIZE])],
        [value("y", TensorProto.FLOAT, [3, SIZE])],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(made)
    return made


def one_number(stored):
    stored["w3"][2, 5] += 0.25


def two_constants_of_one_node(stored):
    stored["w3"][:, [2, 5]] = stored["w3"][:, [5, 2]]
    stored["b3"][[2, 5]] = stored["b3"][[5, 2]]


def two_nodes(stored):
    stored["w2"][0, 0] += 0.25
    stored["w4"][1, 1] += 0.25


def two_nodes_side_by_side(stored):
    stored["w0"][0, 0] += 0.25
    stored["beside"][1, 1] += 0.25


@pytest.fixture
def searches(monkeypatch):
    """Count the searches through all tensors."""
    seen, search = [], locate_module.locate

    def counted(*given):
        seen.append(given)
        return search(*given)

    monkeypatch.setattr(locate_module, "locate", counted)
    return seen


def checked(candidate, **options):
    return isomorph.check(network(), candidate, inputs=INPUTS, in_process=True, **options)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (one_number, "1 of 144 values differ"),
        (two_constants_of_one_node, "channels 2 and 5 along axis 1 are swapped"),
    ],
)
def test_the_reader_of_a_wrong_weight_is_named_without_a_search(searches, change, text):
    report = checked(network(change))
    (found,) = (each for each in report.findings if each.code == "GUILTY_NODE")
    assert report.verdict == "divergent"
    assert (found.node, found.cause, found.status) == ("gemm3", "weight", "confirmed")
    assert found.evidence["constant"] == "w3"
    assert found.evidence["difference"] == text
    assert found.fix == "give 'w3' the values of the reference's 'w3'"
    assert found.share == pytest.approx(1.0)
    assert found.reference_nodes == ("gemm3",)
    assert not searches
    (output,) = report.outputs
    assert output.rounding.budget.lower_bound
    assert not [each for each in report.findings if each.code == "CONSTANT_DIFFERS"]


def test_a_wrong_weight_beside_another_fault_is_searched_for(searches):
    report = checked(network(one_number, slope=0.2))
    assert {each.node for each in report.findings} == {"gemm3", "relu5"}
    assert searches


@pytest.mark.parametrize(
    ("change", "faulty"),
    [(two_nodes, {"gemm2", "gemm4"}), (two_nodes_side_by_side, {"gemm0", "beside"})],
)
def test_wrong_weights_of_several_nodes_are_searched_for(searches, change, faulty):
    report = checked(network(change))
    assert {each.node for each in report.findings} == faulty
    assert searches


@pytest.mark.parametrize(
    "options",
    [{"only_given": True}, {"align": True}, {"profile": True}],
    ids=lambda each: next(iter(each)),
)
def test_where_more_is_asked_for_every_tensor_is_captured(searches, options):
    report = checked(network(one_number), options=isomorph.CheckOptions(**options))
    assert report.verdict == "divergent"
    assert report.findings[0].node == "gemm3"
    assert searches


def test_weights_that_cannot_be_read_prove_nothing(searches, monkeypatch):
    def unreadable(_):
        raise IsomorphError("UNREADABLE", "cannot be read")

    monkeypatch.setattr(ComparedWeights, "differences", property(unreadable))
    report = checked(network(one_number))
    assert report.findings[0].node == "gemm3"
    assert searches


def test_every_generated_input_is_judged_by_the_weight_and_the_node_is_named_once(searches):
    report = isomorph.check(network(), network(one_number), in_process=True)
    assert len(report.inputs) > 1
    assert [each.code for each in report.findings].count("GUILTY_NODE") == 1
    assert all(each.rounding.budget.lower_bound for each in report.outputs)
    assert not searches


def test_a_quick_check_compares_no_weights(searches, monkeypatch):
    def compared(_):
        raise AssertionError("weights were compared")

    monkeypatch.setattr(ComparedWeights, "differences", property(compared))
    assert checked(network(one_number), quick=True).verdict == "divergent"
    assert not searches

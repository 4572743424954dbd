"""Inputs of other names: what both models make of a sample decides, and only in the usual order."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import isomorph
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.core.report import BoundBy

KERNEL = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)


def model(path, names, *, read=None, op="Sub", kernel=KERNEL):
    """``read[0] @ kernel - read[1]``, whose inputs are declared in the order of ``names``."""
    first, second = read or names
    nodes = [
        helper.make_node("MatMul", [first, "w"], ["product"]),
        helper.make_node(op, ["product", second], ["result"]),
    ]
    declared = [helper.make_tensor_value_info(name, 1, [3, 4]) for name in names]
    result = helper.make_tensor_value_info("result", 1, [3, 4])
    stored = numpy_helper.from_array(kernel, "w")
    graph = helper.make_graph(nodes, "g", declared, [result], [stored])
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


@pytest.fixture
def reference(tmp_path):
    return model(tmp_path / "reference.onnx", ("a", "b"))


def checked(reference, candidate, **options):
    return isomorph.check(reference, candidate, in_process=True, **options)


def test_the_order_of_the_signatures_is_taken_where_it_alone_agrees(reference, tmp_path):
    report = checked(reference, model(tmp_path / "c.onnx", ("x", "y")))
    assert report.verdict is Verdict.EQUIVALENT
    assert [(p.reference, p.candidate, p.how) for p in report.input_bindings] == [
        ("a", "x", BoundBy.VALUES), ("b", "y", BoundBy.VALUES),
    ]  # fmt: skip


def test_another_order_is_stated_and_left_to_the_user(reference, tmp_path):
    candidate = model(tmp_path / "c.onnx", ("x", "y"), read=("y", "x"))
    with pytest.raises(UsageError, match="ambiguous") as refused:
        checked(reference, candidate)
    assert refused.value.code == "AMBIGUOUS_BINDING"
    assert refused.value.fix.endswith("--bind-input a=y --bind-input b=x")
    report = checked(reference, candidate, bind_inputs={"a": "y", "b": "x"})
    assert report.verdict is Verdict.EQUIVALENT


def test_inputs_that_are_exchanged_by_name_are_a_divergence(reference, tmp_path):
    candidate = model(tmp_path / "c.onnx", ("a", "b"), read=("b", "a"))
    assert checked(reference, candidate).verdict is Verdict.DIVERGENT


def test_a_small_fault_leaves_the_pairing_clear_and_is_found(reference, tmp_path):
    candidate = model(tmp_path / "c.onnx", ("x", "y"), kernel=KERNEL * np.float32(1.0001))
    report = checked(reference, candidate)
    assert report.verdict is Verdict.DIVERGENT
    assert report.findings[0].cause == "weight"


@pytest.mark.parametrize(
    "changes",
    [{"kernel": KERNEL + 1}, {"op": "Mul"}, {"names": ("x", "y", "z"), "read": ("x", "y")}],
    ids=["another weight", "another operator", "an input more"],
)
def test_what_agrees_in_no_pairing_stays_open(reference, tmp_path, changes):
    candidate = model(tmp_path / "c.onnx", **{"names": ("x", "y"), **changes})
    with pytest.raises(UsageError, match="ambiguous") as refused:
        checked(reference, candidate)
    assert "it could be: a, b" in refused.value.why


def test_what_agrees_in_every_pairing_stays_open(tmp_path):
    kernel = np.eye(4, dtype=np.float32)
    names = ("a", "b"), ("x", "y")
    sums = [
        model(tmp_path / f"{left}.onnx", (left, right), op="Add", kernel=kernel)
        for left, right in names
    ]
    with pytest.raises(UsageError, match="ambiguous"):
        checked(*sums)


def test_a_repair_keeps_the_pairing(reference, tmp_path):
    candidate = model(tmp_path / "c.onnx", ("x", "y"), kernel=KERNEL * np.float32(1.0001))
    repaired = isomorph.fix(reference, candidate, output=tmp_path / "fixed.onnx", in_process=True)
    assert repaired.repaired, repaired.reason

"""Constants that float16 cannot hold, beside constants that are wrong."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph import api
from isomorph.reporters._findings import repairable

LIMIT = 65504.0


def network(kind, variance):
    """A normalization behind a product, in a type; numbers beyond it end at its largest."""
    dtype = {"float32": np.float32, "float16": np.float16}[kind]
    declared = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    weight = np.random.default_rng(0).normal(size=(8, 8, 1, 1)) * 300
    constants = {"w": weight, "s": np.ones(8), "b": np.zeros(8), "m": np.zeros(8), "v": variance}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv"),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm"),
        helper.make_node("Relu", ["n"], ["y"], "relu"),
    ]
    ends = [helper.make_tensor_value_info(name, declared, [1, 8, 4, 4]) for name in "xy"]
    stored = [
        numpy_helper.from_array(np.clip(value, -LIMIT, LIMIT).astype(dtype), name)
        if kind == "float16"
        else numpy_helper.from_array(value.astype(dtype), name)
        for name, value in constants.items()
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], stored)
    assert declared in {TensorProto.FLOAT, TensorProto.FLOAT16}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize(("beyond", "words"), [(8, "8 of its numbers lie"), (1, "one of its")])
def test_what_its_type_cannot_hold_is_a_matter_of_precision(beyond, words):
    variance = np.where(np.arange(8) < beyond, 2e6, 2e3)
    report = isomorph.check(
        network("float32", variance), network("float16", variance), in_process=True
    )
    first = report.findings[0]
    assert (first.node, first.cause) == ("norm", "precision")
    assert words in first.summary
    assert "--precision float16" in first.fix
    assert not repairable(first)


def test_a_repair_advises_a_conversion_and_writes_nothing(tmp_path):
    variance = np.where(np.arange(8) < 1, 2e6, 2e3)
    fixed = tmp_path / "fixed.onnx"
    for kind in ("float32", "float16"):
        onnx.save(network(kind, variance), tmp_path / f"{kind}.onnx")
    repair = api.fix(tmp_path / "float32.onnx", tmp_path / "float16.onnx", output=fixed,
                     in_process=True)  # fmt: skip
    assert (repair.repaired, repair.exit_code, fixed.exists()) == (False, 1, False)
    assert "isomorph convert --precision float16" in repair.advice[0]


def test_another_number_within_the_type_is_a_wrong_weight():
    variance = np.full(8, 2e4)
    report = isomorph.check(
        network("float32", variance), network("float16", np.full(8, LIMIT)), in_process=True
    )
    assert (report.findings[0].node, report.findings[0].cause) == ("norm", "weight")


def test_numbers_beyond_beside_a_wrong_one_are_a_wrong_weight():
    variance = np.where(np.arange(8) < 4, 2e6, 2e3)
    wrong = np.where(np.arange(8) < 4, 2e6, 9e3)
    report = isomorph.check(
        network("float32", variance), network("float16", wrong), in_process=True
    )
    assert (report.findings[0].node, report.findings[0].cause) == ("norm", "weight")

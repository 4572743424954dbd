"""Attributes of the operators of ai.onnx.ml that no input reaches are found, or listed."""

import numpy as np
import pytest
from onnx import helper

import isomorph
from unreached import F32, model

DOMAIN = "ai.onnx.ml"
X = np.abs(np.random.default_rng(0).normal(size=(3, 2))).astype(np.float32) + 0.5
TREE = {
    "n_targets": 1,
    "nodes_treeids": [0] * 5,
    "nodes_nodeids": [0, 1, 2, 3, 4],
    "nodes_featureids": [0, 1, 0, 0, 0],
    "nodes_values": [0.0, 1.0, 0.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 2, 0, 0, 0],
    "nodes_falsenodeids": [4, 3, 0, 0, 0],
    "target_treeids": [0] * 3,
    "target_nodeids": [2, 3, 4],
    "target_ids": [0] * 3,
    "target_weights": [1.0, 2.0, 3.0],
}


def made(op, attributes, reads, gives):
    node = helper.make_node(op, ["x"], ["y"], name="node", domain=DOMAIN, **attributes)
    found = model([node], {"x": reads}, {"y": gives}, {})
    found.opset_import.append(helper.make_opsetid(DOMAIN, 3))
    return found


def tree(**changed):
    return made("TreeEnsembleRegressor", {**TREE, **changed}, (F32, (3, 2)), (F32, (3, 1)))


def labels(words):
    attributes = {"keys_int64s": [1, 2, 3], "values_strings": words, "default_string": "_"}
    reads, gives = (np.dtype(np.int64), (3,)), (np.dtype(np.object_), (3,))
    return made("LabelEncoder", attributes, reads, gives)


def imputer(value):
    attributes = {"imputed_value_floats": [0.0, value], "replaced_value_float": float("nan")}
    return made("Imputer", attributes, (F32, (3, 2)), (F32, (3, 2)))


def check(reference, candidate, given):
    return isomorph.check(reference, candidate, inputs={"x": given}, in_process=True)


@pytest.mark.parametrize(
    "changed",
    [
        {"nodes_values": [0.0, 1.5, 0.0, 0.0, 0.0]},
        {"nodes_values": [-2000.0, 1.0, 0.0, 0.0, 0.0]},
        {"target_weights": [1.5, 2.0, 3.0]},
        {"nodes_modes": ["BRANCH_LT", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"]},
    ],
    ids=["threshold", "far threshold", "leaf", "mode"],
)
def test_a_branch_that_no_input_takes_is_compared(changed):
    report = check(tree(), tree(**changed), X)
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.skipped
    assert next(iter(changed)) in report.reason


def test_equal_trees_are_equal():
    assert check(tree(), tree(), X).verdict is isomorph.Verdict.EQUIVALENT


def test_a_label_that_no_input_gets_is_compared():
    given = np.array([1, 2, 1])
    report = check(labels(["a", "b", "c"]), labels(["a", "b", "d"]), given)
    assert report.verdict is isomorph.Verdict.DIVERGENT, report.skipped
    same = check(labels(["a", "b", "c"]), labels(["a", "b", "c"]), given)
    assert same.verdict is isomorph.Verdict.EQUIVALENT


def test_an_attribute_that_none_of_the_tried_inputs_shows_is_listed():
    report = check(imputer(1.0), imputer(2.0), X)
    assert any("imputed_value_floats" in each.why for each in report.skipped)

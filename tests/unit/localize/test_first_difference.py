"""Outputs that hold no tensor of numbers: their makers are suspected, and never convicted."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import isomorph

SCORES = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])


def _save(path, nodes, outputs, **constants):
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", [SCORES], outputs, stored)
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def _labels(path, words, chooser="ArgMax"):
    nodes = [
        helper.make_node(chooser, ["x"], ["place"], "choose", axis=1, keepdims=0),
        helper.make_node("Gather", ["words", "place"], ["label"], "name"),
    ]
    label = helper.make_tensor_value_info("label", TensorProto.STRING, [4])
    return _save(path, nodes, [label], words=np.array(words, dtype=object))


def _suspects(reference, candidate):
    report = isomorph.check(reference, candidate, in_process=True)
    assert report.verdict == "divergent"
    return [(f.code, f.node, f.status) for f in report.findings if f.node]


def test_the_node_that_makes_other_words_is_suspected(tmp_path):
    good = _labels(tmp_path / "a.onnx", ["cat", "dog", "owl"])
    bad = _labels(tmp_path / "b.onnx", ["elk", "ant", "bee"])
    assert _suspects(good, bad) == [("FIRST_APART", "name", "suspected")]


def test_words_that_are_wrong_because_of_an_earlier_node_name_that_node(tmp_path):
    good = _labels(tmp_path / "a.onnx", ["cat", "dog", "owl"])
    bad = _labels(tmp_path / "b.onnx", ["cat", "dog", "owl"], chooser="ArgMin")
    assert "name" not in [node for _, node, _ in _suspects(good, bad)]


def test_the_node_that_makes_another_list_is_suspected(tmp_path):
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    parts = helper.make_value_info("parts", kind)
    split = helper.make_node("SplitToSequence", ["x", "size"], ["parts"], "cut", axis=0)
    good = _save(tmp_path / "a.onnx", [split], [parts], size=np.int64(1))
    bad = _save(tmp_path / "b.onnx", [split], [parts], size=np.int64(2))
    assert _suspects(good, bad) == [("FIRST_APART", "cut", "suspected")]

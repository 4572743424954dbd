"""The alignment that a check reports: what corresponds, across folding, renaming and faults."""

import json

import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.alignment import Confidence
from isomorph.match import tensor_capture
from isomorph.match.tensor_capture import TensorCapture
from isomorph.reporters.json import JsonReporter, schema
from network import WEIGHTS, network, planted


def aligned(reference, candidate, **options):
    return isomorph.check(reference, candidate, in_process=True, **options)


def test_a_divergent_pair_is_aligned_up_to_its_fault_and_behind_it():
    report = aligned(network(), planted("slope"))
    pairs = {pair.candidate: pair for pair in report.alignment.pairs}
    assert report.alignment.tensors == (16, 16)
    assert report.alignment.constants == (14, 14)
    assert pairs["a1"].evidence == ("substitution", "provenance")
    others = [p for p in pairs.values() if p.kind == "tensor" and p.candidate != "a1"]
    assert {pair.inputs for pair in others} == {2}, "the second made-up input agrees as well"
    assert {pair.confidence for pair in others} == {Confidence.CERTAIN}


def test_models_that_agree_are_aligned_when_asked():
    assert aligned(network(), network()).alignment is None
    report = aligned(network(), network(), options=isomorph.CheckOptions(align=True))
    assert report.verdict == "equivalent"
    assert report.alignment.tensors == (16, 16)


def test_what_agrees_on_one_input_only_was_an_accident():
    """Under N(0, 1) the Where passes x on; under 0…1 it does not."""
    value = helper.make_tensor_value_info
    n = helper.make_node
    graph = helper.make_graph(
        [n("ReduceMin", ["x"], ["least"], "least", keepdims=0),
         n("Less", ["least", "edge"], ["low"], "less"), n("Add", ["x", "x"], ["twice"], "twice"),
         n("Where", ["low", "x", "twice"], ["w"], "where"), n("Tanh", ["w"], ["y"], "tanh")],
        "g", [value("x", TensorProto.FLOAT, [4, 8])], [value("y", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor("edge", TensorProto.FLOAT, [], [-0.5])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    found = aligned(model, model, options=isomorph.CheckOptions(align=True)).alignment
    pairs = {(pair.reference[0], pair.candidate): pair for pair in found.pairs}
    assert found.inputs == 2
    assert (pairs["w", "w"].inputs, pairs["x", "x"].inputs) == (2, 2)
    assert pairs["w", "w"].rivals == 1
    wrong = [pair for key, pair in pairs.items() if set(key) == {"x", "w"}]
    assert all(pair.confidence is Confidence.POSSIBLE for pair in wrong)


def test_it_can_be_left_out():
    report = aligned(network(), planted("slope"), options=isomorph.CheckOptions(align=False))
    assert report.findings[0].code == "GUILTY_NODE"
    assert report.alignment is None


@pytest.mark.parametrize(
    ("fault", "words"),
    [("slope", "only where it should be negative"), ("operands", "with its sign turned"),
     ("bias", "by one amount for each index of axis 1"), ("stale", "all elements"),
     ("corrupted", "only at index 0 of axis 1")],
)  # fmt: skip
def test_a_finding_describes_where_the_error_of_its_node_is(fault, words):
    (first, *_) = aligned(network(), planted(fault)).findings
    assert words in first.evidence["where"]["words"]


def test_the_json_of_an_aligned_report_satisfies_the_schema():
    import jsonschema

    report = aligned(network(), planted("slope", "stale"))
    document = json.loads(JsonReporter().render(report))
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert document["alignment"]["pairs"][0]["kind"] == "input"


def branches():
    """x → If x's mean is positive: a LeakyRelu and a product; else a Neg."""
    value = helper.make_tensor_value_info
    n = helper.make_node
    then = helper.make_graph(
        [n("LeakyRelu", ["a"], ["t1"], "leak", alpha=0.1), n("Mul", ["t1", "k"], ["t2"], "times")],
        "then", [], [value("t2", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(WEIGHTS["b1"][:3].reshape(1, 3), "k")],
    )  # fmt: skip
    other = helper.make_graph([n("Neg", ["a"], ["e"], "minus")], "else", [],
                              [value("e", TensorProto.FLOAT, [2, 3])])  # fmt: skip
    graph = helper.make_graph(
        [n("Tanh", ["x"], ["a"], "tanh"),
         n("ReduceMax", ["x"], ["mean"], "most", keepdims=0),
         n("Greater", ["mean", "zero"], ["yes"], "asks"),
         n("If", ["yes"], ["y"], "choose", then_branch=then, else_branch=other)],
        "g", [value("x", TensorProto.FLOAT, [2, 3])], [value("y", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor("zero", TensorProto.FLOAT, [], [-9.0])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_the_insides_of_a_branch_are_aligned_by_structure():
    copy = onnx.ModelProto()
    copy.CopyFrom(branches())
    chosen = next(node for node in copy.graph.node if node.name == "choose")
    for body in (each.g for each in chosen.attribute):
        for node in body.node:
            node.output[0] = f"{node.output[0]}_new"
            node.input[:] = [f"{n}_new" if n.startswith("t") else n for n in node.input]
        body.output[0].name = f"{body.output[0].name}_new"
    found = aligned(branches(), copy, options=isomorph.CheckOptions(align=True)).alignment
    inside = {p.candidate: p for p in found.pairs if p.kind == "body"}
    assert {name: pair.reference for name, pair in inside.items()} == {
        "choose/then_branch/t1_new": ("choose/then_branch/t1",),
        "choose/then_branch/t2_new": ("choose/then_branch/t2",),
        "choose/else_branch/e_new": ("choose/else_branch/e",),
    }
    assert {pair.transform for pair in inside.values()} == {"values not seen"}
    assert "choose/then_branch/k" in {p.candidate for p in found.pairs if p.kind == "constant"}


def test_little_memory_names_the_same_nodes(monkeypatch):
    whole = aligned(network(), planted("layer-epsilon", "bias"))
    looks = []
    inner = TensorCapture.run

    def counted(self, names, given=None):
        looks.append(len(names))
        return inner(self, names, given)

    monkeypatch.setattr(tensor_capture, "default_worker_memory", lambda: 1 << 17)
    monkeypatch.setattr(TensorCapture, "run", counted)
    small = aligned(network(), planted("layer-epsilon", "bias"))
    assert [f.node for f in small.findings] == [f.node for f in whole.findings]
    assert small.alignment == whole.alignment
    assert max(looks) < len(network().graph.node), "nothing was fetched all at once"

"""Faults planted in a network of our own: the node and the cause must be named, and proven."""

import numpy as np
import onnx
import onnxruntime
import pytest

import isomorph
from network import FAULTS, network, planted

MANY = [
    ("epsilon", "layer-epsilon"), ("slope", "stale"), ("bias", "corrupted"), ("pool", "axis"),
    ("half-weight", "operands"), ("permuted", "concat"), ("pads", "transposed"),
    ("epsilon", "pads", "stale"), ("slope", "pool", "half-weight"), ("bias", "concat", "axis"),
    ("operands", "layer-epsilon", "stale"),
]  # fmt: skip


def checked(candidate):
    return isomorph.check(network(), candidate, in_process=True)


@pytest.mark.parametrize("name", FAULTS)
def test_one_fault_is_found_explained_and_proven(name):
    _, node, cause = FAULTS[name]
    report = checked(planted(name))
    assert report.verdict == "divergent"
    first = report.findings[0]
    assert (first.code, first.node) == ("GUILTY_NODE", node)
    assert first.cause == cause
    assert first.status == "confirmed"
    assert first.experiments
    assert first.experiments[0].agrees
    faulty = [finding for finding in report.findings if finding.code == "GUILTY_NODE"]
    assert len(faulty) == 1, "only one node is faulty"


@pytest.mark.parametrize("names", MANY, ids="+".join)
def test_several_faults_are_all_found(names):
    report = checked(planted(*names))
    faulty = {f.node for f in report.findings if f.code == "GUILTY_NODE"}
    assert faulty == {FAULTS[name][1] for name in names}


def renamed(model):
    """Every tensor and node under another name; names are evidence, not proof."""
    fresh = {name: f"t{i}" for i, name in enumerate(
        n for node in model.graph.node for n in node.output)}  # fmt: skip
    outputs = {each.name for each in model.graph.output}
    for place, node in enumerate(model.graph.node):
        node.name = f"op{place}"
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = name if name in outputs else fresh.get(name, name)
    return model


def test_renaming_hides_nothing():
    clean, wrong = renamed(network()), renamed(planted("pool"))
    assert checked(clean).verdict == "equivalent"
    place = [node.op_type for node in wrong.graph.node].index("AveragePool")
    report = checked(wrong)
    assert report.findings[0].node == f"op{place}"


def optimized(model, folder, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(model.SerializeToString(), options)
    return onnx.load(folder / "optimized.onnx")


@pytest.mark.parametrize("name", ["pool", "half-weight", "axis"])
def test_a_fused_graph_hides_nothing(name, tmp_path):
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    assert checked(optimized(network(), tmp_path, level)).verdict == "equivalent"
    report = checked(optimized(planted(name), tmp_path, level))
    assert report.verdict == "divergent"
    assert report.findings[0].code == "GUILTY_NODE"
    expected = FAULTS[name][1]
    assert any(expected in each for each in (report.findings[0].node, *report.findings[0].nodes))


def test_a_correct_model_is_left_alone():
    report = checked(network())
    assert report.verdict == "equivalent"
    assert not report.findings


def test_localization_can_be_left_out():
    report = isomorph.check(
        network(), planted("pool"), in_process=True, options=isomorph.CheckOptions(locate=False)
    )
    assert report.verdict == "divergent"
    assert {finding.code for finding in report.findings} == {"TRANSLATION"}


def test_the_share_of_each_fault_is_reported():
    report = checked(planted("stale", "epsilon"))
    shares = {f.node: f.share for f in report.findings if f.code == "GUILTY_NODE"}
    assert all(0.0 <= share <= 1.0 for share in shares.values())
    assert np.max(list(shares.values())) > 0.1

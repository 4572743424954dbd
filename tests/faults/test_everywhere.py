"""Two and three faults in one model, whatever framework it was converted to: all are found."""

import pytest

import isomorph
from everywhere import FAULTS, IMAGE, MAKERS, pytorch

pytest.importorskip("torch")
pytest.importorskip("tensorflow")

CASES = [
    ("pytorch", ("slope", "stale")),
    ("pytorch", ("corrupted", "epsilon")),
    ("pytorch", ("bias", "operands", "axis")),
    ("pytorch", ("slope", "epsilon", "stale")),
    ("tensorflow", ("slope", "stale")),
    ("tensorflow", ("corrupted", "epsilon")),
    ("tensorflow", ("operands", "gate")),
    ("tensorflow", ("slope", "epsilon", "stale")),
    ("tflite", ("slope", "stale")),
    ("tflite", ("corrupted", "epsilon")),
    ("tflite", ("operands", "gate")),
    ("tflite", ("slope", "epsilon", "stale")),
    ("onnx", ("bias", "operands", "axis")),
    ("onnx", ("slope", "gate", "stale")),
]


@pytest.fixture(scope="module")
def reference():
    return pytorch()


def check(reference, candidate):
    return isomorph.check(reference, candidate, inputs={"x": IMAGE}, in_process=True)


@pytest.mark.parametrize("framework", MAKERS)
def test_the_network_is_the_same_everywhere(reference, framework):
    report = check(reference, MAKERS[framework]())
    assert report.verdict == "equivalent"
    assert not [finding for finding in report.findings if finding.code == "GUILTY_NODE"]


@pytest.mark.parametrize(
    ("framework", "faults"), CASES, ids=[f"{name}: {'+'.join(faults)}" for name, faults in CASES]
)
def test_every_fault_is_found(reference, framework, faults):
    candidate = MAKERS[framework](*faults)
    report = check(reference, candidate)
    assert report.verdict == "divergent"
    faulty = [finding for finding in report.findings if finding.code == "GUILTY_NODE"]
    assert all(finding.status == "confirmed" for finding in faulty)
    graph = isomorph.inspect(candidate, in_process=True).graph
    ops = {node.name: node.op for node in graph.nodes}
    # In the order of the graph every fault has a finding of its own.
    left = list(faulty)
    order = [fault for fault in ORDER if fault in faults]
    for fault in order:
        match = next((f for f in left if {ops[n] for n in f.nodes} & FAULTS[fault]), None)
        assert match is not None, f"{fault} was not found among {[f.node for f in faulty]}"
        left.remove(match)
    assert not left, f"{[f.node for f in left]} are correct"


ORDER = ("bias", "slope", "corrupted", "operands", "epsilon", "gate", "stale", "axis")

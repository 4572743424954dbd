"""A fault planted in OpenVINO's files is named with its node and its cause, and repaired there."""

import pytest

pytest.importorskip("openvino")

import isomorph
from isomorph import registry
from openvino_faults import FAULTS, float_pair, planted, quantized_pair

SETTINGS = {"candidate.precision": "f32"}


@pytest.mark.parametrize(
    ("pair", "verdict"),
    [(float_pair, isomorph.Verdict.EQUIVALENT), (quantized_pair, isomorph.Verdict.DEGRADED)],
)
def test_a_faithful_conversion_is_no_alarm(pair, verdict, tmp_path):
    report = isomorph.check(*pair(tmp_path), settings=SETTINGS, in_process=True)
    assert report.verdict is verdict, report.reason
    assert not [each for each in report.findings if each.code == "GUILTY_NODE"]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_named_and_repaired(fault, tmp_path):
    reference, candidate = planted(fault, tmp_path)
    report = isomorph.check(reference, candidate, settings=SETTINGS, in_process=True)
    assert report.verdict is isomorph.Verdict.DIVERGENT
    (finding, *_) = [each for each in report.findings if each.code == "GUILTY_NODE"]
    graph = registry.framework("openvino").load(candidate, {}).graph
    kinds = {node.name: node.native_op for node in graph.nodes}
    assert (kinds[finding.node], finding.cause) == (fault.node, fault.cause)
    output = tmp_path / "repaired.xml"
    done = isomorph.fix(reference, candidate, output=output, settings=SETTINGS, in_process=True)
    assert done.repaired, done.reason
    again = isomorph.check(reference, output, settings=SETTINGS, in_process=True)
    assert again.verdict.exit_code == 0

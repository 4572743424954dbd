"""Many nodes that one setting restores are one finding."""

from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Diagnosis
from isomorph.core.report import Finding
from isomorph.diagnose.diagnose import DiagnosedFinding
from isomorph.diagnose.runtime_faults import merged_findings


def finding(node, fix, *, right):
    found = Finding(
        rank=0,
        code="GUILTY_NODE",
        cause="precision",
        status="suspected",
        effect="reaches_output",
        summary=f"node {node!r} is off",
        node=node,
        nodes=(node,),
        tensors=(f"{node}:0",),
        experiments=(experiment("precision.run", agrees=right, switch="another setting"),),
        fix=fix,
        share=0.1,
    )
    diagnosis = Diagnosis(cause="precision", summary="?", certainty=3, restores_run=right)
    return DiagnosedFinding(finding=found, diagnoses=(diagnosis,))


def test_nodes_that_one_setting_restores_are_joined_and_proven():
    (one,) = merged_findings([finding(name, "run with a", right=True) for name in "abcde"])
    assert (one.node, one.status, one.share) == ("a", "confirmed", None)
    assert one.nodes == tuple("abcde")
    assert one.evidence["alike"] == list("bcde")
    assert "4 more nodes: 'b', 'c', 'd', …" in one.summary


def test_what_another_setting_restores_or_none_stays_by_itself():
    given = [
        finding("a", "run with a", right=True),
        finding("b", "run with b", right=True),
        finding("c", "run with a", right=False),
    ]
    found = merged_findings(given)
    assert [each.node for each in found] == ["a", "b", "c"]
    assert [each.status for each in found] == ["confirmed", "confirmed", "suspected"]
    assert found[2] == given[2].finding

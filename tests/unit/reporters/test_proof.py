"""What a report says about its proof: which output is proven, and what stands beside it."""

import json
from dataclasses import replace

import pytest

from isomorph import registry
from isomorph.core.divergence import Verdict
from isomorph.core.proof import OpenReason, Reason, Standing
from isomorph.reporters._proof import counts, error_probability, proof_lines, why_open
from report_fixtures import PROOF


def text_of(report):
    return "\n".join(text for _, text in proof_lines(report))


def with_standing(report, standing, verdict=Verdict.EQUIVALENT, contradicted=()):
    output = replace(PROOF.outputs[0], standing=standing)
    measured = replace(report.outputs[0], reference_output="logits", candidate_output="output_0")
    return replace(
        report,
        outputs=(replace(measured, verdict=verdict),),
        proof=replace(PROOF, outputs=(output,), contradicted=contradicted),
    )


def test_a_proven_output_comes_with_shapes_probability_and_assumptions(report):
    text = text_of(with_standing(report, Standing.PROVEN))
    assert "for every input of these shapes (x [2, 3]): 1 of 1 outputs proven" in text
    assert "logits: proven\n" in text
    assert "real arithmetic" in text
    assert "constants equal up to 1e-07" in text
    assert "at most 1.0e-15 that a wrong equality passed (seed 5)" in text


@pytest.mark.parametrize(
    ("standing", "word"),
    [
        (Standing.TESTED, "logits: tested: agreed on samples only; "),
        (Standing.OPEN, "logits: open; "),
    ],
)
def test_what_is_not_proven_has_its_reason_and_no_probability(report, standing, word):
    text = text_of(with_standing(report, standing))
    assert f"{word}operator TopK at top is not defined for proofs: a tie" in text
    assert "wrong equality" not in text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.DIVERGENT, "the graphs agree at these shapes, and what differs is a run"),
        (Verdict.DEGRADED, "precision of the run, not the function"),
        (Verdict.UNKNOWN, "could not be judged"),
    ],
)
def test_a_proof_beside_another_verdict_says_what_it_is_not_about(report, verdict, words):
    assert words in text_of(with_standing(report, Standing.PROVEN, verdict))


def test_a_contradiction_is_called_a_defect(report):
    found = with_standing(report, Standing.PROVEN, Verdict.DIVERGENT, contradicted=("logits",))
    assert "a defect of isomorph" in text_of(found)


def test_an_unexplained_constant_is_named():
    reason = OpenReason(reason=Reason.UNEXPLAINED_CONSTANT, node="n", op="Mul", details="w")
    assert why_open(reason).startswith("unexplained constant w at n (Mul)")


def test_another_identity_names_its_node():
    reason = OpenReason(reason=Reason.DIFFERENT_IDENTITY, node="n", op="Mul")
    assert why_open(reason).startswith("not proven equal at n (Mul)")


def test_equality_by_structure_has_no_probability():
    assert error_probability(replace(PROOF, chance=0.0)).startswith("none")


def test_outputs_are_counted_by_their_standing():
    outputs = tuple(replace(PROOF.outputs[0], standing=each) for each in Standing)
    assert counts(replace(PROOF, outputs=outputs)) == "1 of 3 outputs proven, 1 tested, 1 open"


def test_a_contradiction_is_an_error_of_the_test_and_not_a_failure(report):
    wrong = with_standing(report, Standing.PROVEN, Verdict.DIVERGENT, contradicted=("logits",))
    plain = with_standing(report, Standing.PROVEN, Verdict.DIVERGENT)
    junit = registry.reporter("junit")
    assert '<error message="' in junit.render(wrong)
    assert '<error message="' not in junit.render(plain)
    assert "against its proof" in registry.reporter("terminal").render(wrong)
    assert "against its proof" not in registry.reporter("terminal").render(plain)


def test_formats_for_machines_have_the_standing_of_each_output(report):
    found = with_standing(report, Standing.TESTED)
    (run,) = json.loads(registry.reporter("sarif").render(found))["runs"]
    assert run["properties"]["proof"] == {
        "outputs": {"logits": "tested"},
        "chance": 1e-15,
        "seed": 5,
    }
    assert "0 of 1 outputs proven, 1 tested" in registry.reporter("junit").render(found)
    assert "- `logits`: tested" in registry.reporter("markdown").render(found)

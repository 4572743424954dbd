"""Which outputs and nodes are tested beside a proof, and what contradicts one."""

import base64
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.checking.config import CheckConfig
from isomorph.checking.prepare import PreparedPair
from isomorph.checking.proof_beside import ProofBeside, with_tested
from isomorph.core.alignment import Alignment, Pair
from isomorph.core.divergence import Budget, Distance, Divergence, ErrorTerm, Verdict
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Graph, Node
from isomorph.core.proof import AxisPlace, AxisProof, NodeProof, Standing
from isomorph.core.report import (
    Binding,
    BoundBy,
    Fact,
    Finding,
    FindingEffect,
    FindingStatus,
    Report,
)
from report_fixtures import PROOF


def zeros(*shape):
    """Inputs as the evidence of a finding holds them."""
    data = base64.b64encode(bytes(4 * math.prod(shape))).decode()
    return {"x": {"dtype": "float32", "shape": list(shape), "base64": data}}


OPEN = NodeProof(side="candidate", node="top", op="TopK", standing=Standing.OPEN)


def graph(name, *outputs):
    node = Node(name=name, op="TopK", native_op="TopK", inputs=(), outputs=outputs)
    return Graph(name="", nodes=(node,), inputs=(), outputs=(), tensors={}, constants={})


def with_evidence(*evidence, outputs=("best", "")):
    pairs = (Pair(kind="tensor", reference=("a",), candidate="best", evidence=evidence),)
    proof = replace(PROOF, nodes=(OPEN,))
    graphs = graph("other"), graph("top", *outputs)
    return with_tested(proof, (), Alignment(inputs=1, pairs=pairs), graphs)


def test_a_node_is_tested_by_equal_values_of_all_its_outputs():
    assert with_evidence("value").nodes[0].standing is Standing.TESTED
    assert with_evidence("structure").nodes[0].standing is Standing.OPEN
    both = with_evidence("value", outputs=("best", "place"))
    assert both.nodes[0].standing is Standing.OPEN


@pytest.mark.parametrize(
    ("verdict", "standing"),
    [
        (Verdict.EQUIVALENT, Standing.TESTED),
        (Verdict.DEGRADED, Standing.TESTED),
        (Verdict.DIVERGENT, Standing.OPEN),
        (Verdict.UNKNOWN, Standing.OPEN),
    ],
)
def test_an_output_is_tested_where_it_is_within_its_budget(verdict, standing):
    output = Divergence(
        reference_output="logits", candidate_output="output_0", dtype="float32", shape=(2,),
        verdict=verdict, reason="",
    )  # fmt: skip
    found = with_tested(PROOF, [output], None, (graph("a"), graph("b")))
    assert found.outputs[0].standing is standing
    assert found.outputs[0].open is PROOF.outputs[0].open


def contradicted(proof, **changes):
    evidence = {Fact.OUTPUT: "output_0", Fact.INPUTS: zeros(2, 3)}
    finding = Finding(
        code="CONSTANT_DIFFERS", status=FindingStatus.CONFIRMED, effect=FindingEffect.LATENT,
        summary="", evidence={**evidence, **changes.pop("evidence", {})},
    )  # fmt: skip
    beside = ProofBeside(requested=True)
    return beside._contradicted(proof, [replace(finding, **changes)])


PROVEN = replace(PROOF, outputs=(replace(PROOF.outputs[0], standing=Standing.PROVEN),))


def test_an_input_of_these_shapes_that_shows_a_difference_contradicts():
    assert contradicted(PROVEN) == ("logits",)
    assert contradicted(PROOF) == ()


def test_one_of_other_shapes_a_suspicion_or_another_output_does_not():
    longer = zeros(2, 4)
    assert contradicted(PROVEN, evidence={Fact.INPUTS: longer}) == ()
    assert contradicted(PROVEN, evidence={Fact.OUTPUT: "other"}) == ()
    assert contradicted(PROVEN, evidence={Fact.INPUTS: None}) == ()
    assert contradicted(PROVEN, status=FindingStatus.SUSPECTED) == ()


def test_a_suspected_node_contradicts_where_its_input_was_measured_to_show_a_difference():
    assert contradicted(PROVEN, code="LATENT", status=FindingStatus.SUSPECTED) == ("logits",)


def error_term(ratio):
    distance = Distance(
        elements=2, compared=2, differing=2, nonfinite_mismatch=0, signed_zero_mismatch=0,
        max_abs=1.0, max_rel=None, max_ulp=None, rms=1.0, relative_l2=None, sqnr_db=None,
        cosine=None, argmax_agreement=None, worst_index=None,
    )  # fmt: skip
    return ErrorTerm(distance=distance, budget=Budget(derivation="", ratio=ratio))


@pytest.mark.parametrize(("shape", "names"), [((2, 3), ("logits",)), ((2, 4), ())])
def test_graphs_that_differ_contradict_at_the_shapes_of_the_proof_alone(shape, names):
    different = Divergence(
        reference_output="logits", candidate_output="output_0", dtype="float32", shape=(2,),
        verdict=Verdict.DIVERGENT, reason="", rounding=error_term(50.0),
    )  # fmt: skip
    beside = ProofBeside(requested=True)
    beside.note({"x": np.zeros(shape)}, [different])
    assert beside._contradicted(PROVEN, ()) == names


def test_graphs_that_differ_at_another_size_contradict_where_every_size_is_proven():
    axis = AxisProof(
        name="m", places=(AxisPlace(input="x", axis=1),), size=3, every_size=True, least=2
    )
    wide = replace(PROVEN, axes=(axis,))
    assert contradicted(wide, evidence={Fact.INPUTS: zeros(2, 4), Fact.OUTPUT: "logits"}) == (
        "logits",
    )
    assert not contradicted(wide, evidence={Fact.INPUTS: zeros(2, 1), Fact.OUTPUT: "logits"})
    assert not contradicted(wide, evidence={Fact.INPUTS: zeros(3, 3), Fact.OUTPUT: "logits"})


def added(proving, monkeypatch):
    """The report of a check with this function in the place of the prover."""
    monkeypatch.setattr("isomorph.checking.prove.prove_prepared", proving)
    empty = SimpleNamespace(model=SimpleNamespace(graph=graph("a")))
    interface = SimpleNamespace(reference=empty, candidate=empty)
    prepared = PreparedPair(interface=interface, inputs=(), outputs=(), options=CheckConfig())
    bare = Report(
        verdict=Verdict.UNKNOWN, reason="", command="check", seed=0, draws=1, false_alarm=1e-6
    )
    return ProofBeside(requested=True).added(bare, prepared, BINDINGS, [object()])


BINDINGS = (Binding(reference="logits", candidate="output_0", how=BoundBy.VALUES),)


def test_outputs_are_proven_as_the_check_has_bound_them(monkeypatch):
    bound = []
    made = added(lambda pair, _: bound.append(pair.outputs) or PROOF, monkeypatch)
    assert bound == [BINDINGS]
    assert made.proof == PROOF


def test_a_model_that_a_proof_cannot_evaluate_leaves_the_answer_of_the_check(monkeypatch):
    def failing(_pair, _sample):
        raise RuntimeFailedError("TIMEOUT", "the oracle took too long")

    made = added(failing, monkeypatch)
    assert made.proof is None
    assert [each.what for each in made.skipped] == ["the proof"]
    assert "took too long" in made.skipped[0].why

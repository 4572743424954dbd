"""Each output that is not equivalent is a finding of its own code, the gravest first."""

import pytest

from isomorph.core.divergence import (
    Budget,
    Distance,
    Divergence,
    DivergenceKind,
    ErrorTerm,
    Verdict,
)
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import TensorSpec
from isomorph.core.report import Binding, Fact, Finding, FindingEffect, FindingStatus
from isomorph.match.axis_layout import Rearrangement
from isomorph.measure import findings


def term(ratio, zeros=0):
    distance = Distance(
        elements=2, compared=2, differing=1, nonfinite_mismatch=0, signed_zero_mismatch=zeros,
        max_abs=0.5, max_rel=0.5, max_ulp=1.0, rms=0.1, relative_l2=0.1, sqnr_db=None,
        cosine=None, argmax_agreement=None, worst_index=(1,),
    )  # fmt: skip
    return ErrorTerm(distance=distance, budget=Budget(derivation="", ratio=ratio))


RIGHT, WRONG, OPEN = term(0.5), term(9.0), term(None)


def divergence(verdict, kind=DivergenceKind.VALUES, **terms):
    return Divergence(
        reference_output="y", candidate_output="z", dtype="float32", shape=(2,), verdict=verdict,
        reason="because", kind=kind, **terms,
    )  # fmt: skip


def codes(*divergences, explained=()):
    return [each.code for each in findings.of_outputs(divergences, explained)]


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({"rounding": WRONG, "execution_candidate": RIGHT}, "TRANSLATION"),
        ({"rounding": WRONG, "execution_candidate": WRONG}, "TRANSLATION"),
        ({"rounding": RIGHT, "execution_candidate": WRONG}, "EXECUTION"),
        ({"rounding": RIGHT}, "TRANSLATION"),
        ({"rounding": OPEN, "execution_candidate": WRONG}, "TRANSLATION"),
        ({"execution_candidate": WRONG}, "TRANSLATION"),
    ],
)
def test_a_divergent_output_is_wrong_by_its_graph_unless_that_is_known_to_be_right(terms, code):
    assert codes(divergence(Verdict.DIVERGENT, observed=WRONG, **terms)) == [code]


def test_another_shape_and_a_missing_output_belong_to_the_interface():
    for kind, code in (("shape", "SHAPE_MISMATCH"), ("missing", "OUTPUT_MISSING")):
        wrong = divergence(Verdict.DIVERGENT, kind=DivergenceKind(kind))
        (found,) = findings.of_outputs([wrong])
        assert (found.code, found.cause) == (code, "interface")


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({}, "UNJUDGED"),
        ({"observed": RIGHT, "execution_reference": WRONG}, "REFERENCE_EXECUTION"),
        ({"observed": RIGHT}, "REFERENCE_EXECUTION"),
        ({"observed": RIGHT, "execution_reference": RIGHT}, "ORACLE"),
    ],
)
def test_an_unknown_output_states_whose_fault_that_is(terms, code):
    assert codes(divergence(Verdict.UNKNOWN, **terms)) == [code]


def test_a_difference_of_the_graphs_that_rounding_hides_is_a_finding():
    hidden = divergence(Verdict.EQUIVALENT, translation=WRONG)
    (found,) = findings.of_outputs([hidden])
    assert (found.code, found.effect) == ("BELOW_ROUNDING", FindingEffect.BELOW_ROUNDING)
    assert codes(divergence(Verdict.EQUIVALENT, translation=RIGHT)) == []
    assert codes(divergence(Verdict.EQUIVALENT, translation=OPEN)) == []
    assert codes(divergence(Verdict.DIVERGENT, translation=WRONG, rounding=WRONG)) == [
        "TRANSLATION"
    ]


def test_runs_that_agree_and_are_both_off_are_noted():
    off = {"execution_reference": WRONG, "execution_candidate": WRONG}
    assert codes(divergence(Verdict.EQUIVALENT, **off)) == ["BOTH_RUNS_OFF"]
    assert codes(divergence(Verdict.EQUIVALENT, **{**off, "execution_reference": RIGHT})) == []


def test_zeros_of_the_other_sign_are_noted():
    assert codes(divergence(Verdict.EQUIVALENT, observed=term(0.0, zeros=3))) == ["SIGNED_ZERO"]


def test_an_output_that_proven_faults_explain_is_not_reported_twice():
    wrong = divergence(Verdict.DIVERGENT, rounding=WRONG, observed=term(9.0, zeros=1))
    assert codes(wrong) == ["TRANSLATION", "SIGNED_ZERO"]
    assert codes(wrong, explained={"z"}) == ["SIGNED_ZERO"]
    assert codes(wrong, explained={"y"}) == ["TRANSLATION", "SIGNED_ZERO"]


def test_what_reaches_an_output_comes_first_and_a_node_before_a_symptom():
    def made(code, effect):
        return Finding(code=code, status=FindingStatus.SUSPECTED, effect=effect, summary=code)

    given = [
        made("NOTE", FindingEffect.NONE),
        made("LATENT", FindingEffect.LATENT),
        made("TRANSLATION", FindingEffect.REACHES_OUTPUT),
        made("GUILTY_NODE", FindingEffect.REACHES_OUTPUT),
        made("BELOW_ROUNDING", FindingEffect.BELOW_ROUNDING),
        made("NOTE", FindingEffect.NONE),
    ]
    ranked = findings.ranked(given)
    assert [each.code for each in ranked] == [
        "GUILTY_NODE", "TRANSLATION", "BELOW_ROUNDING", "LATENT", "NOTE",
    ]  # fmt: skip
    assert [each.rank for each in ranked] == [1, 2, 3, 4, 5]


def bound(**names):
    return [Binding(reference=ref, candidate=cand, how="name") for ref, cand in names.items()]


def test_outputs_in_another_order_are_named_with_the_options_that_accept_it():
    found = findings.of_order(bound(a="x", b="y", c="z"), bound(a="y", b="x", c="z"))
    assert found.tensors == ("y", "x")
    assert "--bind-output a=y --bind-output b=x" in found.fix


def spec(name, dtype="float32", shape=(2,)):
    return TensorSpec(name=name, dtype=dtype, shape=shape)


def test_equal_names_in_another_order_are_found():
    ref = [spec("a"), spec("b"), spec("c")]
    pairs = bound(a="a", b="b", c="c")
    assert findings.of_named_order(ref, ref, pairs) is None
    found = findings.of_named_order(ref, [ref[1], ref[0], ref[2]], pairs)
    assert set(found.tensors) == {"a", "b"}


def test_a_rearranged_output_is_wrong_only_if_its_values_are():
    moved = {"z": Rearrangement(permutation=(1, 0), shape=(2, 3))}
    (fine,) = findings.of_rearranged(moved, [divergence(Verdict.EQUIVALENT)])
    assert (fine.code, fine.effect) == ("OUTPUT_SHAPE", FindingEffect.NONE)
    (wrong,) = findings.of_rearranged(moved, [divergence(Verdict.DIVERGENT)])
    assert (wrong.code, wrong.effect) == ("SHAPE_MISMATCH", FindingEffect.REACHES_OUTPUT)


def test_changes_of_the_signature_are_listed_one_by_one():
    reference = [spec("x", shape=("batch", 3)), spec("lost")]
    candidate = [spec("inp", "float16", (2, 3)), spec("new")]
    found = list(findings.of_signature("input", reference, candidate, bound(x="inp")))
    assert {each.code for each in found} == {"INTERFACE"}
    assert [each.tensors for each in found] == [("inp",), ("inp",), ("lost",), ("new",)]
    assert found[1].evidence == {Fact.FIXED_AXES: [0]}
    renamed = findings.of_signature("output", [spec("x")], [spec("inp")], bound(x="inp"))
    assert not list(renamed), "a new name is a note"


@pytest.mark.parametrize(
    ("ref", "cand", "fixed"),
    [
        (("n", None, 3), (2, 4, 3), {0: 2, 1: 4}),
        ((2, 3), (2, 3), {}),
        ((2, 3), ("n", 3), {}),
        (("n", 3), (2, 3, 1), {}),
        (None, (2,), {}),
    ],
)
def test_an_axis_is_fixed_where_only_the_candidate_states_its_size(ref, cand, fixed):
    assert findings.fixed_axes(spec("x", shape=ref), spec("x", shape=cand)) == fixed


def test_a_failure_keeps_the_code_and_the_first_line_of_its_reason():
    error = RuntimeFailedError("CRASHED", "it died", why="line one\nline two", node="n")
    found = findings.of_failure("candidate", "run", error)
    assert (found.code, found.node) == ("CRASHED", "n")
    assert "line one" in found.summary
    assert "line two" not in found.summary
    assert found.evidence == {"phase": "run", "why": "line one\nline two"}


def test_another_provider_than_the_one_asked_for_is_noted():
    def noted(asked, used):
        facts = {"providers asked": asked, "providers used": used}
        return [each.code for each in findings.of_fallback("candidate", facts)]

    assert noted("CUDA, CPU", "CPU") == ["PROVIDER_FALLBACK"]
    assert noted("CUDA, CPU", "CUDA,CPU") == []
    assert noted("", "CPU") == []

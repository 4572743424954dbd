"""What one compared sample adds to a check: orders, pairings, shapes, and verdicts."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from isomorph.checking.compare import (
    LossStudy,
    comparison_outcome,
    comparison_terms,
    declared_order,
    single_model_reasons,
    study_loss,
    with_channels,
    with_doubtful_losses,
)
from isomorph.checking.config import CheckConfig
from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Budget, Distance, Divergence, ErrorTerm, Verdict
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Graph, OutputOrder, TensorSpec
from isomorph.core.report import Binding
from isomorph.localize import locate as locating
from isomorph.localize import quantization_faults, unrounded_weights
from isomorph.measure.compare import Comparison

TERM = ErrorTerm(
    distance=Distance(
        elements=1, compared=1, differing=0, nonfinite_mismatch=0, signed_zero_mismatch=0,
        max_abs=0.0, max_rel=0.0, max_ulp=0.0, rms=0.0, relative_l2=0.0, sqnr_db=None,
        cosine=None, argmax_agreement=None, worst_index=None,
    ),
    budget=Budget(derivation="", ratio=0.5),
)  # fmt: skip


def judged(verdict="equivalent", **terms):
    return Divergence(
        reference_output="y", candidate_output="y", dtype="float32", shape=(1,),
        verdict=Verdict(verdict), reason=verdict, **terms,
    )  # fmt: skip


def bound(**names):
    return tuple(Binding(reference=r, candidate=c, how="name") for r, c in names.items())


def compared(*divergences, **more):
    return Comparison(divergences=divergences, rearranged={}, **more)


def test_the_verdicts_of_the_outputs_are_claims():
    outcome = comparison_outcome(
        compared(judged("degraded"), judged("unknown")), (), compared_before=False
    )
    assert [each.verdict for each in outcome.claims] == [Verdict.DEGRADED, Verdict.UNKNOWN]
    assert len(outcome.divergences) == 2


def test_outputs_that_agree_in_another_order_are_another_function():
    pairs = bound(a="x", b="y")
    outcome = comparison_outcome(
        compared(bindings=pairs, order=bound(a="y", b="x")), pairs, compared_before=False
    )
    assert [each.code for each in outcome.findings] == ["OUTPUT_ORDER"]
    assert outcome.claims[0].verdict is Verdict.DIVERGENT


def test_outputs_without_an_order_are_paired_alike_on_every_input():
    first, second = bound(a="x", b="y"), bound(a="y", b="x")
    for before, claims in ((False, []), (True, [Verdict.UNKNOWN])):
        outcome = comparison_outcome(compared(bindings=second), first, compared_before=before)
        assert [each.verdict for each in outcome.claims] == claims
    same = comparison_outcome(compared(bindings=first), first, compared_before=True)
    assert same.claims == ()


def prepared(ref, cand):
    def side(names):
        specs = tuple(TensorSpec(name=name, dtype="float32", shape=(1,)) for name in names)
        graph = Graph(name="g", inputs=(), outputs=specs, nodes=(), tensors={}, constants={})
        return SimpleNamespace(model=SimpleNamespace(graph=graph))

    outputs = bound(**{name: name for name in ref})
    return SimpleNamespace(reference=side(ref), candidate=side(cand), outputs=outputs)


@pytest.mark.parametrize("order", OutputOrder)
def test_named_outputs_in_another_order_count_where_callers_use_the_order(order):
    outcome = declared_order(prepared("ab", "ba"), (OutputOrder.POSITIONAL, order))
    by_name = order in {OutputOrder.UNORDERED, OutputOrder.NAMED}
    assert [each.verdict for each in outcome.claims] == ([] if by_name else [Verdict.DIVERGENT])
    assert declared_order(prepared("ab", "ab"), (order, order)).claims == ()


def test_stated_layouts_are_for_the_outputs_that_there_are():
    options = CheckConfig(layouts={"y": (1, 0), "x": (0, 1)}, budgets={"y": 0.1})
    terms = comparison_terms(options, layouts_of=["y", "z"])
    assert terms.arrangeable.stated == {"y": (1, 0)}
    assert terms.budgets == {"y": 0.1}
    assert not terms.arrangeable.channels
    assert with_channels(terms, moved=True).arrangeable.channels
    assert with_channels(terms, moved=False) is terms


def test_a_model_alone_is_given_a_reason_of_its_own():
    found = single_model_reasons(
        compared(judged(observed=TERM), judged(), judged("unknown", observed=TERM))
    )
    assert [each.reason == before for each, before in zip(
        found.divergences, ("equivalent", "equivalent", "unknown"), strict=True
    )] == [False, True, True]  # fmt: skip


@pytest.fixture
def nodes(monkeypatch):
    """Replaces the look into the nodes: what it is asked, and the verdict that it comes to."""
    asked = []

    def set_to(verdict):
        def locate(*_):
            asked.append(verdict)
            if isinstance(verdict, Exception):
                raise verdict
            return "located"

        monkeypatch.setattr(locating, "locate", locate)
        monkeypatch.setattr(unrounded_weights, "compared_unrounded", lambda *_: None)
        monkeypatch.setattr(
            quantization_faults, "judge_losses", lambda *_: compared(judged(verdict))
        )
        return asked

    return set_to


SIDES = SimpleNamespace(), SimpleNamespace()
TERMS = SimpleNamespace(false_alarm=1e-6)


def studied(comparison, earlier=None):
    earlier = earlier or LossStudy()
    return study_loss(SIDES, comparison, TERMS, InputKind.GIVEN, earlier, candidates=None)


def test_a_loss_within_its_budget_is_followed_to_its_nodes_once(nodes):
    asked = nodes("divergent")
    first = studied(compared(judged("degraded")))
    assert (first.studied, first.hidden, len(asked)) == (True, "located", 1)
    assert first.comparison.divergences[0].verdict is Verdict.DIVERGENT
    again = studied(compared(judged("degraded")), first)
    assert (len(asked), again.hidden) == (1, "located")
    assert again.comparison.divergences[0].verdict is Verdict.DEGRADED


def test_a_loss_whose_nodes_are_right_hides_nothing(nodes):
    nodes("degraded")
    found = studied(compared(judged("degraded")))
    assert (found.studied, found.hidden) == (True, None)


@pytest.mark.parametrize("verdict", ["equivalent", "unknown"])
def test_without_a_loss_nothing_is_looked_into(nodes, verdict):
    asked = nodes("divergent")
    assert not studied(compared(judged(verdict))).studied
    assert not studied(compared(judged("degraded"), order=bound(a="b"))).studied
    assert asked == []


def test_nodes_that_cannot_be_looked_at_are_reported(nodes):
    nodes(RuntimeFailedError("X", "it broke"))
    found = studied(compared(judged("degraded")))
    (skipped,) = found.outcome.skipped
    assert skipped.what == "the search for nodes that lose too much"
    assert found.comparison.divergences[0].verdict is Verdict.DEGRADED


@pytest.mark.parametrize(("ratio", "verdict"), [(1.1, "unknown"), (1e6, "divergent")])
def test_a_loss_whose_size_does_not_decide_is_unknown_where_no_node_is_looked_at(ratio, verdict):
    budget = Budget(derivation="", ratio=ratio, draws=10, freedom=20.0)
    loss = replace(TERM, budget=budget)
    comparison = compared(judged("divergent", intended_loss=loss, execution_candidate=TERM))
    (found,) = with_doubtful_losses(comparison, TERMS).divergences
    assert found.verdict is Verdict(verdict)

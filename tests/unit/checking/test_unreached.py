"""A difference that no given input shows decides, unless the question was about those alone."""

from types import SimpleNamespace

import pytest

from isomorph.checking import unreached
from isomorph.checking.config import CheckConfig
from isomorph.checking.unreached import compare_attributes, compare_constants, compare_inputs
from isomorph.checking.verdict import Summary
from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Verdict
from isomorph.core.report import Finding, FindingEffect, FindingStatus, Skipped
from isomorph.inputs.feeds import Sample

SKIPPED = Skipped(what="weights", why="too many")


def finding(name):
    return Finding(
        code="LATENT", status=FindingStatus.CONFIRMED, effect=FindingEffect.LATENT, summary="",
        node=name,
    )  # fmt: skip


def compared(differs="weight 'w' differs", *nodes):
    return SimpleNamespace(findings=tuple(map(finding, nodes)), skipped=(SKIPPED,), differs=differs)


def prepared(**options):
    side = SimpleNamespace(model=None)
    return SimpleNamespace(
        options=CheckConfig(**options), reference=side, candidate=side, inputs=()
    )


def samples(*kinds):
    return [Sample(origin="", feeds={}, kind=InputKind(kind)) for kind in kinds]


@pytest.fixture
def weights(monkeypatch):
    def set_to(result):
        monkeypatch.setattr(unreached, "compared_constants", lambda *_, **__: result)

    return set_to


@pytest.mark.parametrize(
    ("verdict", "kinds", "words"),
    [
        ("equivalent", ("generated",), "the same on the generated input, but "),
        ("equivalent", ("generated", "generated"), "the same on the generated inputs, but "),
        ("equivalent", ("given", "generated"), "the same on the given inputs, but "),
        ("degraded", ("given",), "within the expected loss on the given input, but "),
        ("unknown", ("given",), ""),
    ],
)
def test_the_reason_states_what_the_runs_showed_before_what_decides(weights, verdict, kinds, words):
    weights(compared())
    outcome = compare_constants(
        prepared(), None, Summary(verdict=Verdict(verdict)), samples(*kinds)
    )
    (claim,) = outcome.claims
    assert (claim.verdict, claim.reason) == (Verdict.DIVERGENT, f"{words}weight 'w' differs")
    assert outcome.skipped == (SKIPPED,)


def test_about_the_given_inputs_alone_it_is_a_finding_and_decides_nothing(weights):
    weights(compared("weight 'w' differs", "n"))
    outcome = compare_constants(prepared(only_given=True), None, Summary(), samples("given"))
    assert (outcome.claims, [each.node for each in outcome.findings]) == ((), ["n"])


def test_without_a_difference_there_is_no_claim(weights):
    weights(compared(""))
    assert compare_constants(prepared(), None, Summary(), samples("given")).claims == ()


@pytest.fixture
def attributes(monkeypatch):
    asked = []

    def set_to(result):
        def compare(*args):
            asked.append(args)
            return result

        monkeypatch.setattr(unreached, "compared_attributes", compare)
        return asked

    return set_to


def test_what_probes_have_shown_is_not_searched_again(attributes):
    asked = attributes(compared("attribute", "a"))
    outcome = compare_attributes(
        prepared(), "experiment", compared("probe", "p"), Summary(), samples("given")
    )
    assert asked == []
    assert [each.node for each in outcome.findings] == ["p"]
    assert outcome.claims[0].reason.endswith("but probe")


def test_an_attribute_that_is_shown_takes_the_place_of_the_probe_of_its_node(attributes):
    attributes(compared("attribute", "a"))
    probed = compared("", "a", "b")
    outcome = compare_attributes(prepared(), "experiment", probed, Summary(), samples("given"))
    assert [each.node for each in outcome.findings] == ["a", "b"]
    assert outcome.findings[1] is probed.findings[1]
    assert outcome.findings[0] is not probed.findings[0]
    assert outcome.claims[0].reason.endswith("but attribute")
    assert len(outcome.skipped) == 2


@pytest.mark.parametrize(
    ("experiment", "verdict"), [(None, "equivalent"), ("experiment", "divergent")]
)
def test_where_nothing_can_be_tried_or_all_is_known_no_search_is_made(
    attributes, monkeypatch, experiment, verdict
):
    asked = attributes(compared("attribute", "a"))
    monkeypatch.setattr(unreached, "compared_inputs", lambda *args: asked.append(args))
    summary = Summary(verdict=Verdict(verdict))
    assert compare_attributes(prepared(), experiment, None, summary, samples("given")).claims == ()
    assert compare_inputs(prepared(), experiment, summary, samples("given")).findings == ()
    assert asked == []


def test_an_input_that_only_one_model_reads_decides(monkeypatch):
    monkeypatch.setattr(unreached, "compared_inputs", lambda *_: compared("mask unread", "m"))
    outcome = compare_inputs(prepared(), "experiment", Summary(), samples("generated"))
    assert outcome.claims[0].reason == "the same on the generated input, but mask unread"

"""An attribute that differs is a finding where an input shows it, and else is listed."""

from types import SimpleNamespace

import numpy as np
import pytest

from chains import node
from isomorph.core.report import Fact, FindingStatus
from isomorph.localize import attribute_findings
from isomorph.localize.attribute_effect import AttributeEffect
from isomorph.localize.attribute_findings import compared_attributes
from isomorph.localize.input_search import Trial
from isomorph.match.attributes import AttributeDifference

TRIAL = Trial(recipe="the given inputs times 4", feeds={"x": np.ones(2)})


def differing(name, holder=None):
    cand, ref = node("LeakyRelu", ["x"], f"r{name}"), node("LeakyRelu", ["x"], f"l{name}")
    return AttributeDifference(
        node=cand, counterpart=ref, name="alpha", expected=0.1, actual=0.2, holder=holder
    )


@pytest.fixture
def compare(monkeypatch):
    """Compares two models whose search has this result."""

    def compared(effect, *differences, known=(), limit=None):
        nothing = AttributeEffect()
        monkeypatch.setattr(attribute_findings, "shown_limit", lambda _: limit or nothing)
        search = SimpleNamespace(differences=list(differences), effect=lambda: effect)
        monkeypatch.setattr(attribute_findings, "attribute_differences", lambda *_: differences)
        monkeypatch.setattr(attribute_findings, "grid_differences", lambda *_: ())
        monkeypatch.setattr(attribute_findings, "AttributeExperiment", lambda *_: search)
        return compared_attributes(None, None, None, known)

    return compared


def shown(difference, **more):
    return AttributeEffect(difference=difference, tried=5, trial=TRIAL, **more)


def test_without_a_difference_there_is_nothing_to_report(compare):
    found = compare(AttributeEffect())
    assert (found.findings, found.skipped, found.differs) == ((), (), "")


def test_one_that_restores_the_outputs_is_confirmed_and_decides(compare):
    one = differing("a")
    found = compare(shown(one, output="y", responsible=True), one)
    (finding,) = found.findings
    assert (finding.code, finding.cause, finding.node) == ("LATENT", "attribute", "make_ra")
    assert (finding.status, finding.effect) == (FindingStatus.CONFIRMED, "latent")
    assert finding.evidence[Fact.REACHED_BY] == TRIAL.recipe
    assert finding.evidence[Fact.OUTPUT] == "y"
    assert set(finding.evidence[Fact.INPUTS]) == {"x"}
    assert finding.reference_nodes == ("make_la",)
    assert [each.agrees for each in finding.experiments] == [True]
    assert found.differs == one.text


def test_a_limit_is_reported_where_no_attribute_is_shown(compare):
    one, limit = differing("a"), differing("b")
    found = compare(AttributeEffect(tried=3), one, limit=shown(limit, responsible=True))
    assert [each.node for each in found.findings] == ["make_rb"]
    assert found.differs == limit.text


def test_one_of_several_that_is_not_known_to_be_responsible_is_suspected(compare):
    first, second = differing("a"), differing("b")
    found = compare(shown(first), first, second)
    (finding,) = found.findings
    assert finding.status is FindingStatus.SUSPECTED
    assert finding.experiments == ()
    assert found.differs == f"they differ on other inputs: {TRIAL.recipe}"
    assert compare(shown(first), first).differs == first.text


def test_inside_a_body_the_node_that_holds_it_is_named_first(compare):
    one = differing("a", holder=node("Loop", ["x"], "loop"))
    (finding,) = compare(shown(one, responsible=True), one).findings
    assert (finding.node, finding.nodes) == ("make_loop", ("make_loop", "make_ra"))
    assert finding.tensors == ("loop",)


def test_the_numbers_of_both_sides_identify_the_finding(compare):
    one, other = differing("a"), differing("a")
    changed = AttributeDifference(
        node=one.node, counterpart=one.counterpart, name="alpha", expected=0.1, actual=0.3
    )
    digests = [
        compare(shown(each), each).findings[0].evidence[Fact.NUMBERS]
        for each in (one, other, changed)
    ]
    assert digests[0] == digests[1] != digests[2]


def test_what_no_input_shows_is_skipped_by_name_and_counted(compare):
    many = [differing(name) for name in "abcde"]
    (skipped,) = compare(AttributeEffect(tried=9), *many).skipped
    assert "make_ra" in skipped.why
    assert "and 2 more" in skipped.why
    assert "none of 9 inputs" in skipped.why
    (untried,) = compare(AttributeEffect(), *many[:1]).skipped
    assert "no input was tried" in untried.why


def test_nodes_that_a_finding_names_already_are_not_listed_again(compare):
    known = SimpleNamespace(node="make_ra", nodes=("make_rb",))
    both = differing("a"), differing("b")
    assert compare(AttributeEffect(tried=1), *both, known=[known]).skipped == ()
    assert compare(AttributeEffect(tried=1), *both).skipped

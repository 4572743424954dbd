"""Which weights that differ make another function, by what inputs show of them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from chains import node
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.limits import MOST_SUSPECT_CONSTANTS
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus
from isomorph.localize import weight_findings
from isomorph.localize.input_search import Trial
from isomorph.localize.output_effect import ConstantEffect, Effect
from isomorph.localize.weight_findings import compared_constants
from isomorph.match.constant_difference import ConstantDifference, WeightComparison
from isomorph.match.stored_weights import StoredWeight, WeightReader
from isomorph.match.structural_constants import Isolation

TRIAL = Trial(recipe="the given inputs times 4", feeds={"x": np.ones(2)})


def differing(name="w", readers=None, wrong=5.0, **more):
    found = node("MatMul", ["x", name], f"of_{readers or name}")
    reader = WeightReader(node=found, slot=1)
    weight = StoredWeight(
        name=name, dtype="float32", shape=(2,), digest=name, value_digest=name, readers=(reader,)
    )
    return ConstantDifference(
        weight=weight, reference=(f"ref_{name}",), evidence=("structure",),
        beyond=np.array([True, False]), expected=np.zeros(2), relative=0.5,
        shown=(((0,), 1.0, wrong),), **more,
    )  # fmt: skip


class Experiment:
    """What inputs show of a weight, and what else is known of it."""

    def __init__(self, effect, *, same_data=False, only=False, counts=False):
        self.found, self.searched = effect, []
        self.reads_same_data = lambda *_: same_data
        self.applied_to_same_data = lambda *_: same_data
        self.only_difference = lambda *_: only
        self.counts = lambda *_: counts

    def effect(self, difference):
        self.searched.append(difference.weight.name)
        return self.found


@pytest.fixture
def compare(monkeypatch):
    """Compares two models with these differences."""

    def compared(experiment, *differences, known=(), **more):
        side = SimpleNamespace(stored={}, graph=SimpleNamespace(constants={}))
        monkeypatch.setattr(weight_findings, "Weights", SimpleNamespace(of=lambda _: side))
        made = WeightComparison(differences=tuple(differences))
        monkeypatch.setattr(weight_findings, "compared_weights", lambda *_: made)
        return compared_constants(None, None, experiment, known, **more)

    return compared


def effect(kind, **more):
    return ConstantEffect(effect=Effect(kind), tried=4, **more)


SHOWN = effect("shown", trial=TRIAL, output="y", divergent=True)
UNSEEN = effect("not reached")
REFUTED = effect("refuted")
UNDECIDED = effect("undecided")
GIVEN = effect("shown", given=True, divergent=True)


@pytest.mark.parametrize(
    ("about", "found", "known", "counts"),
    [
        ({}, SHOWN, {}, True),
        ({}, UNSEEN, {}, True),
        ({}, UNDECIDED, {}, True),
        ({}, REFUTED, {}, False),
        ({"certain": False}, SHOWN, {}, True),
        ({"certain": False}, UNSEEN, {}, False),
        ({"certain": False}, UNSEEN, {"only": True}, True),
        ({"certain": False}, UNDECIDED, {"only": True}, False),
        ({"certain": False, "alone": True}, UNDECIDED, {"same_data": True}, True),
        ({"certain": False}, UNDECIDED, {"same_data": True}, False),
        ({"certain": False, "alone": True}, REFUTED, {"same_data": True}, False),
        ({"certain": False, "sole": True}, UNSEEN, {"same_data": True}, True),
        ({"certain": False, "sole": True}, UNSEEN, {}, False),
        ({"certain": False, "sole": True}, UNDECIDED, {"same_data": True}, False),
        ({"certain": False, "sole": True}, GIVEN, {}, False),
        ({"certain": False, "isolation": Isolation.FIRST}, GIVEN, {"counts": True}, False),
        ({"certain": False, "isolation": Isolation.ONLY}, GIVEN, {}, True),
        ({"certain": False, "isolation": Isolation.ONLY}, UNSEEN, {"counts": True}, True),
        ({"certain": False, "isolation": Isolation.ONLY}, UNSEEN, {}, False),
        ({"inside": True}, GIVEN, {}, False),
        ({"inside": True}, SHOWN, {}, True),
    ],
)
def test_a_weight_counts_by_what_is_known_of_it_and_what_inputs_show(
    compare, about, found, known, counts
):
    result = compare(Experiment(found, **known), differing(**about))
    assert bool(result.findings) == counts
    assert bool(result.differs) == counts


def test_without_an_experiment_a_certain_difference_counts_and_the_only_one_by_place(
    compare,
):
    assert compare(None, differing()).differs
    assert not compare(None, differing(certain=False)).differs
    assert compare(None, differing(certain=False, isolation=Isolation.ONLY)).differs
    assert not compare(None, differing(certain=False, isolation=Isolation.FIRST)).differs


def test_what_an_input_shows_is_confirmed_and_what_none_reaches_is_latent(compare):
    (shown,) = compare(Experiment(SHOWN), differing()).findings
    assert (shown.status, shown.effect) == (FindingStatus.CONFIRMED, FindingEffect.REACHES_OUTPUT)
    assert shown.evidence[Fact.OUTPUT] == "y"
    assert shown.evidence[Fact.REACHED_BY] == TRIAL.recipe
    assert set(shown.evidence[Fact.INPUTS]) == {"x"}
    assert (shown.node, shown.evidence[Fact.CONSTANT]) == ("make_of_w", "w")
    (latent,) = compare(Experiment(UNSEEN), differing()).findings
    assert (latent.status, latent.effect) == (FindingStatus.SUSPECTED, FindingEffect.LATENT)


def test_the_numbers_identify_the_difference(compare):
    def digest(difference):
        return compare(Experiment(UNSEEN), difference).findings[0].evidence[Fact.NUMBERS]

    assert digest(differing()) == digest(differing()) != digest(differing(wrong=6.0))


def known(node, **evidence):
    return Finding(
        code="GUILTY_NODE", status=FindingStatus.CONFIRMED, effect=FindingEffect.REACHES_OUTPUT,
        summary="", node=node, evidence=evidence,
    )  # fmt: skip


def test_a_weight_that_a_proven_finding_is_about_is_left_out(compare):
    for finding in (known("make_of_w"), known("other", constant="w")):
        assert not compare(Experiment(SHOWN), differing(), known=[finding]).findings
    assert compare(Experiment(SHOWN), differing(), known=[known("other")]).findings


def test_one_constant_under_two_names_is_one_difference(compare):
    first, other = differing("w"), differing("v", readers="w")
    copy = replace(other, reference=first.reference)
    assert len(compare(Experiment(UNSEEN), first, copy).findings) == 1
    assert len(compare(Experiment(UNSEEN), first, other).findings) == 2


def test_with_a_stated_budget_a_weight_decides_only_where_outputs_are_beyond_it(compare):
    assert compare(Experiment(SHOWN), differing(), stated_budget=True).differs
    within = compare(Experiment(UNSEEN), differing(), stated_budget=True)
    assert (bool(within.findings), within.differs) == (True, "")
    assert "within the stated budget" in within.skipped[-1].why


def test_of_many_the_first_are_examined_and_the_others_counted(compare):
    many = [differing(f"w{place}") for place in range(MOST_SUSPECT_CONSTANTS + 3)]
    experiment = Experiment(UNSEEN)
    result = compare(experiment, *many)
    assert len(experiment.searched) == MOST_SUSPECT_CONSTANTS
    assert str(len(many)) in result.skipped[0].why


def test_many_at_once_that_the_inputs_reach_are_judged_by_the_runs(compare):
    many = [differing(f"w{place}") for place in range(MOST_SUSPECT_CONSTANTS + 1)]
    assert not compare(Experiment(UNDECIDED), *many).findings
    assert compare(Experiment(UNSEEN), *many).findings


def test_one_search_answers_for_all_constants_of_bodies(compare):
    experiment = Experiment(UNSEEN)
    compare(experiment, differing("a", inside=True), differing("b", inside=True))
    assert experiment.searched == ["a"]


def test_a_limit_that_no_input_reaches_is_listed(compare):
    limit = differing(certain=False, isolation=Isolation.ONLY_LIMIT)
    result = compare(Experiment(UNSEEN), limit)
    assert result.findings == ()
    assert "is a limit" in result.skipped[0].why


def test_weights_that_cannot_be_read_are_skipped(monkeypatch):
    def broken(_):
        raise RuntimeFailedError("X", "broken")

    monkeypatch.setattr(weight_findings, "Weights", SimpleNamespace(of=broken))
    (skipped,) = compared_constants(None, None, None, ()).skipped
    assert skipped.what == "the comparison of constants"

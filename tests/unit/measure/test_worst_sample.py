"""The worst sample is the one of the gravest verdict, and among equals of the fullest budget."""

from dataclasses import replace
from itertools import pairwise

import pytest

from isomorph.core.dataset_summary import OutputOverSamples, OverSamples
from isomorph.core.divergence import Budget, Distance, Divergence, ErrorTerm, Verdict
from isomorph.inputs.feeds import Sample
from isomorph.measure import worst_sample
from isomorph.measure.worst_sample import Worst, weight

NOWHERE = Distance(
    elements=1, compared=1, differing=0, nonfinite_mismatch=0, signed_zero_mismatch=0,
    max_abs=0.0, max_rel=0.0, max_ulp=0.0, rms=0.0, relative_l2=0.0, sqnr_db=None, cosine=None,
    argmax_agreement=None, worst_index=None,
)  # fmt: skip


def term(ratio):
    return ErrorTerm(distance=NOWHERE, budget=Budget(derivation="", ratio=ratio))


def judged(verdict=Verdict.EQUIVALENT, **ratios):
    terms = {name: term(ratio) for name, ratio in ratios.items()}
    return Divergence(
        reference_output="y", candidate_output="z", dtype="float32", shape=(1,), verdict=verdict,
        reason="", **terms,
    )  # fmt: skip


def sample(name):
    return Sample(origin=name, feeds={})


def test_a_graver_verdict_outweighs_any_share_of_a_budget():
    rising = [
        judged(Verdict.EQUIVALENT, rounding=0.9),
        judged(Verdict.DEGRADED, rounding=0.1),
        judged(Verdict.UNKNOWN),
        judged(Verdict.DIVERGENT, observed=0.1),
        judged(Verdict.DIVERGENT, observed=0.1, rounding=2.0),
        judged(Verdict.DIVERGENT, execution_candidate=3.0, observed=None),
    ]
    assert all(weight(less) < weight(more) for less, more in pairwise(rising))


@pytest.fixture
def tables(monkeypatch):
    asked = []
    monkeypatch.setattr(
        worst_sample, "table", lambda *models, **how: asked.append((models, how)) or ("t", "s")
    )
    return asked


def test_the_models_of_the_first_worst_sample_are_kept(tables):
    worst = Worst()
    for name, ratio in (("a", 0.2), ("b", 0.7), ("c", 0.7), ("d", 0.1)):
        worst.remember(sample(name), [judged(observed=ratio)], f"cand {name}", f"ref {name}")
    assert worst.quantization(asked=None) == ("t", "s")
    ((models, how),) = tables
    assert models == ("cand b", "ref b")
    assert how["everything"] is False
    assert how["outputs"][0].observed.budget.ratio == 0.7


def test_no_table_is_made_where_the_user_wants_none_or_nothing_was_compared(tables):
    assert Worst().quantization(asked=True) == ((), ())
    worst = Worst()
    worst.remember(sample("a"), [judged()], "c", None)
    assert worst.quantization(asked=False) == ((), ())
    assert tables == []


def test_a_test_set_states_the_share_of_the_budget_on_its_worst_samples():
    output = OutputOverSamples(
        reference_output="y", candidate_output="z", samples=3, worst="b", worst_absolute=0.1,
        worst_relative=0.1,
    )  # fmt: skip
    chosen = OverSamples(location="photos", samples=3, outputs=(output, replace(output, worst="z")))
    worst = Worst(chosen_from=chosen)
    worst.note("a", [judged(observed=0.3)])
    worst.note("b", [judged(observed=0.3, intended_loss=0.8)])
    found = worst.test_set([sample("a"), sample("b")])
    assert [each.worst_ratio for each in found.outputs] == [0.8, None]
    assert found.examined == ("a", "b")
    assert Worst().test_set([]) is None

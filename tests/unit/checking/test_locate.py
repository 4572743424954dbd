"""Whether the graphs are searched, or a run is at fault, or nothing is."""

from types import SimpleNamespace

import pytest

from isomorph.checking.locate import locate_faults, underflow_outcome
from isomorph.core.divergence import (
    Budget,
    Distance,
    Divergence,
    DivergenceKind,
    ErrorTerm,
    Verdict,
)
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.report import Binding
from isomorph.localize import locate as locating
from isomorph.measure.compare import Comparison

TERMS = SimpleNamespace(false_alarm=1e-6)


def term(ratio):
    distance = Distance(
        elements=1, compared=1, differing=1, nonfinite_mismatch=0, signed_zero_mismatch=0,
        max_abs=1.0, max_rel=1.0, max_ulp=1.0, rms=1.0, relative_l2=1.0, sqnr_db=None,
        cosine=None, argmax_agreement=None, worst_index=None,
    )  # fmt: skip
    return ErrorTerm(distance=distance, budget=Budget(derivation="", ratio=ratio))


RIGHT, WRONG = term(0.5), term(9.0)


def judged(verdict="divergent", output="y", kind=DivergenceKind.VALUES, **terms):
    return Divergence(
        reference_output=output, candidate_output=output, dtype="float32", shape=(1,),
        verdict=Verdict(verdict), reason="", kind=kind, **terms,
    )  # fmt: skip


GRAPH = judged(rounding=WRONG, observed=WRONG)
RUN = judged(rounding=RIGHT, execution_candidate=WRONG, observed=WRONG)


def compared(*divergences, **more):
    pair = Binding(reference="y", candidate="y", how="name")
    return Comparison(divergences=divergences, rearranged={}, bindings=(pair,), **more)


@pytest.fixture
def searched(monkeypatch):
    """Notes each search of the graphs."""
    asked = []

    def locate(reference, candidate, pairs, known):
        asked.append((reference, candidate, pairs, *known))
        return "faults"

    monkeypatch.setattr(locating, "locate", locate)
    return asked


def located(comparison, explained=(), hidden=None, known=()):
    return locate_faults(
        ("ref", "cand"), comparison, TERMS,
        explained=frozenset(explained), hidden=hidden, known=known,
    )  # fmt: skip


def test_what_another_sample_has_shown_is_known_to_the_search(searched):
    located(compared(GRAPH), known=["fault"])
    assert searched == [("ref", "cand", [("y", "y")], "fault")]


def test_a_wrong_graph_is_searched(searched):
    found = located(compared(GRAPH))
    assert searched == [("ref", "cand", [("y", "y")])]
    assert (found.located, found.failure, found.outputs) == ("faults", None, ["y"])


def test_another_shape_is_a_matter_of_the_graph(searched):
    assert located(compared(judged(kind=DivergenceKind.SHAPE))).located == "faults"


def test_a_run_that_is_off_is_a_place_without_a_search(searched):
    found = located(compared(RUN))
    assert (found.located, found.outputs, searched) == (None, ["y"], [])


@pytest.mark.parametrize("verdict", ["equivalent", "degraded", "unknown"])
def test_what_is_not_divergent_has_no_place(searched, verdict):
    assert located(compared(judged(verdict, rounding=WRONG))) is None
    assert searched == []


def test_outputs_in_another_order_have_no_faulty_node(searched):
    assert located(compared(GRAPH, order=())) is None


def test_faults_that_a_loss_hid_are_not_searched_again(searched):
    assert located(compared(GRAPH), hidden="hidden").located == "hidden"
    assert searched == []


def test_a_search_that_fails_leaves_the_reason(monkeypatch):
    def broken(*_):
        raise RuntimeFailedError("X", "it broke")

    monkeypatch.setattr(locating, "locate", broken)
    found = located(compared(GRAPH))
    assert (found.located, found.failure) == (None, "it broke")


def test_outputs_that_underflow_explains_are_left_out(searched):
    underflow = SimpleNamespace(reference="stored", findings=["f"], outputs=["y"])
    comparison = compared(GRAPH, judged(output="z", rounding=WRONG), underflow=underflow)
    found = located(comparison, explained=["y"])
    assert found.outputs == ["z"]
    assert searched[0][0] == "stored"
    assert located(compared(GRAPH, underflow=underflow), explained=["y"]) is None
    outcome = underflow_outcome(comparison)
    assert (outcome.findings, outcome.explained) == (("f",), frozenset({"y"}))
    assert underflow_outcome(compared(GRAPH)).explained == frozenset()

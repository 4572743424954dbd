"""Every cause is asked; the best founded diagnosis counts, and a cause that fails ends nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.fault_context import Certainty, Diagnosis, FaultSite
from isomorph.core.limits import NODE_OUTPUTS, noted_limits
from isomorph.core.model import Graph, Node
from isomorph.core.report import Experiment, Fact, Finding, FindingEffect, FindingStatus
from isomorph.diagnose import diagnose
from isomorph.diagnose.diagnose import diagnosed, diagnoses

NODE = Node(
    name="n", op="Relu", native_op="Relu", inputs=("x",), outputs=("y",), attributes={"alpha": 0.1}
)
GRAPH = Graph(name="g", inputs=(), outputs=(), nodes=(NODE,), tensors={}, constants={})
FINDING = Finding(
    code="GUILTY_NODE", status=FindingStatus.CONFIRMED, effect=FindingEffect.REACHES_OUTPUT,
    summary="it is off", node="n", evidence={"where": "there"},
)  # fmt: skip


def stated(cause, certainty, **more):
    experiment = Experiment(question=cause, change="", predicts="", seen="", agrees=certainty > 0)
    return Diagnosis(
        cause=cause, summary=f"by {cause}", certainty=certainty, experiments=(experiment,), **more
    )


@pytest.fixture
def causes(monkeypatch):
    """Registers these causes alone, by name, each with what it answers."""

    def register(**answers):
        def made(name, answer, *sites):
            def examine(context):
                if isinstance(answer, Exception):
                    raise answer
                return iter(answer(context) if callable(answer) else answer)

            return SimpleNamespace(
                name=name, sites=frozenset(sites or {FaultSite.GRAPH}), examine=examine
            )

        known = {
            name: made(name, *(answer if isinstance(answer, tuple) else (answer,)))
            for name, answer in answers.items()
        }
        monkeypatch.setattr(registry, "names", lambda kind: tuple(known))
        monkeypatch.setattr(registry, "cause", known.__getitem__)
        monkeypatch.setattr(diagnose, "matching_issues", lambda *_: ())
        monkeypatch.setattr(diagnose, "original_nodes", lambda _: ())

    return register


def context(**more):
    about = {
        "reference": GRAPH, "candidate": GRAPH, "node": NODE, "nodes": (NODE,),
        "execution": None, "rehearse": lambda patch: np.zeros(1), "equals": lambda value: False,
        "right_without_grids": False,
    }  # fmt: skip
    return SimpleNamespace(**about | more)


def test_the_best_founded_diagnosis_comes_first_and_equals_keep_their_order(causes):
    causes(
        a=[stated("a", Certainty.POSSIBLE)],
        b=[stated("b", Certainty.CONFIRMED), stated("b", Certainty.REFUTED)],
        c=[stated("c", Certainty.CONFIRMED)],
        d=[stated("d", Certainty.EVIDENT)],
    )
    assert [each.cause for each in diagnoses(context())] == ["d", "b", "c", "a", "b"]


def test_what_is_right_without_any_grid_has_a_cause_of_grids_where_one_answers(causes):
    grid = (FaultSite.GRAPH, FaultSite.GRID)
    causes(missing_op=[stated("missing_op", 2)], quantization=([stated("quantization", 1)], *grid))
    assert [each.cause for each in diagnoses(context())] == ["missing_op", "quantization"]
    assert [each.cause for each in diagnoses(context(right_without_grids=True))] == ["quantization"]
    causes(missing_op=[stated("missing_op", 2)], quantization=([], *grid))
    assert [each.cause for each in diagnoses(context(right_without_grids=True))] == ["missing_op"]


def test_only_causes_of_this_place_are_asked(causes):
    causes(graph=([stated("graph", 3)], FaultSite.GRAPH), run=([stated("run", 3)], FaultSite.RUN))
    assert [each.cause for each in diagnoses(context())] == ["graph"]
    assert [each.cause for each in diagnoses(context(execution="a run"))] == ["run"]


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), ZeroDivisionError("x")])
def test_a_cause_that_fails_is_refuted_and_the_others_count(causes, error):
    causes(broken=error, fine=[stated("fine", Certainty.VISIBLE)])
    found = diagnoses(context())
    assert [(each.cause, each.certainty) for each in found] == [
        ("fine", Certainty.VISIBLE),
        ("broken", Certainty.REFUTED),
    ]
    assert type(error).__name__ in found[1].experiments[0].seen


def test_a_fault_of_isomorph_itself_is_not_hidden(causes):
    causes(broken=AttributeError("x"))
    with pytest.raises(AttributeError):
        diagnoses(context())


def test_a_limit_counts_only_where_no_cause_was_confirmed(causes):
    def limited(certainty):
        def answer(_):
            NODE_OUTPUTS.reached()
            return [stated("a", certainty)]

        return answer

    for certainty, counts in ((Certainty.VISIBLE, True), (Certainty.CONFIRMED, False)):
        causes(a=limited(certainty))
        with noted_limits() as hit:
            diagnoses(context())
        assert (NODE_OUTPUTS in hit) == counts


def test_the_finding_gets_the_first_cause_and_names_the_next_two(causes):
    causes(
        a=[stated("a", Certainty.CONFIRMED, evidence={"number": 1}, fix="set it", node="m")],
        b=[stated("b", Certainty.VISIBLE)],
        c=[stated("c", Certainty.POSSIBLE)],
        d=[stated("d", Certainty.POSSIBLE)],
        e=[stated("e", Certainty.REFUTED)],
    )
    result = diagnosed(FINDING, context())
    found = result.finding
    assert (found.cause, found.causes, found.fix) == ("a", ("a", "b", "c"), "set it")
    assert found.summary == "it is off; by a"
    assert found.evidence == {
        "where": "there", "number": 1, "also": ["b: by b", "c: by c"], Fact.MEMBER: "m",
    }  # fmt: skip
    assert [each.question for each in found.experiments] == ["a", "e"]
    assert [each.cause for each in result.diagnoses] == ["a", "b", "c", "d"]


def test_a_mere_possibility_names_no_other_node(causes):
    causes(a=[stated("a", Certainty.POSSIBLE, node="m")])
    assert Fact.MEMBER not in diagnosed(FINDING, context()).finding.evidence
    causes(a=[stated("a", Certainty.VISIBLE, node="n")])
    assert Fact.MEMBER not in diagnosed(FINDING, context()).finding.evidence


def test_where_all_was_refuted_the_cause_stays_unknown_and_the_experiments_are_kept(causes):
    causes(a=[stated("a", Certainty.REFUTED)])
    result = diagnosed(FINDING, context())
    assert (result.finding.cause, result.diagnoses) == (None, ())
    assert [each.question for each in result.finding.experiments] == ["a"]


def test_advice_that_could_be_tried_and_was_not_confirmed_is_not_given(causes):
    causes(a=[stated("a", Certainty.VISIBLE, fix="set it")])
    assert diagnosed(FINDING, context()).finding.fix is None
    assert diagnosed(FINDING, context(rehearse=lambda patch: None)).finding.fix == "set it"


def test_the_nodes_of_the_reference_are_advised_where_they_restore_the_node(causes, monkeypatch):
    causes(a=[stated("a", Certainty.VISIBLE)])
    patches = [SimpleNamespace(summary="first"), SimpleNamespace(summary="second")]
    monkeypatch.setattr(diagnose, "original_nodes", lambda _: patches)
    restoring = context(
        rehearse=lambda patch: np.array(getattr(patch, "summary", "")),
        equals=lambda value: str(value) == "second",
    )
    assert diagnosed(FINDING, restoring).finding.fix == "second"
    assert diagnosed(FINDING, context()).finding.fix is None


def test_settings_that_restore_the_run_are_those_of_the_first_diagnosis(causes):
    causes(a=[stated("a", 3, restores_run=True)], b=[stated("b", 2)])
    assert diagnosed(FINDING, context()).restores_run
    causes(a=[stated("a", 3)], b=[stated("b", 2, restores_run=True)])
    assert not diagnosed(FINDING, context()).restores_run

"""Whether models ran and repeated themselves, and what follows where they did not."""

import threading
from types import SimpleNamespace

import pytest

from isomorph.checking import evaluate
from isomorph.checking.evaluate import check_determinism, failure_outcome, overflow_outcome
from isomorph.core.divergence import Verdict
from isomorph.core.errors import FATAL, RuntimeFailedError, UsageError
from isomorph.core.model import Graph
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.diagnose import randomness
from isomorph.inputs.feeds import Sample
from isomorph.measure import overflow
from isomorph.measure.determinism import NotRepeated

GRAPH = Graph(name="g", inputs=(), outputs=(), nodes=(), tensors={}, constants={})

SAMPLE = Sample(origin="given", feeds={})


def finding(code, role=""):
    return Finding(
        code=code, status=FindingStatus.CONFIRMED, effect=FindingEffect.NONE, summary=role
    )


class Handle:
    def __init__(self):
        self.released = 0

    runs_beside_another = True

    def release(self):
        self.released += 1


def model(role, *failures, handle=None, isolated=False):
    return SimpleNamespace(
        role=role, model=SimpleNamespace(graph=GRAPH), taken={}, handle=handle, feeds={},
        failures=lambda: iter(failures), isolated=isolated,
    )  # fmt: skip


@pytest.fixture
def repeats(monkeypatch):
    """Sets what differs in the second run of each role."""

    def set_to(**found):
        monkeypatch.setattr(
            evaluate, "compare_repeated_runs", lambda each: found.get(each.role, NotRepeated())
        )
        monkeypatch.setattr(
            randomness, "randomness_finding", lambda each, names: finding("RANDOM", each.role)
        )

    return set_to


RANDOM = NotRepeated(random=("y",))


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        ({}, []),
        ({"candidate": RANDOM}, [Verdict.DIVERGENT]),
        ({"reference": RANDOM}, [Verdict.UNKNOWN]),
        ({"reference": RANDOM, "candidate": RANDOM}, [Verdict.UNKNOWN, Verdict.UNKNOWN]),
    ],
)
def test_with_a_random_reference_no_candidate_is_called_wrong(repeats, found, verdicts):
    repeats(**found)
    result = check_determinism(model("reference"), model("candidate"))
    assert [each.verdict for each in result.outcome.claims] == verdicts
    assert result.holds is not bool(verdicts)
    assert {each.summary for each in result.outcome.findings} == set(found)


def test_a_run_that_rounds_otherwise_each_time_is_noted_and_is_deterministic(repeats):
    repeats(candidate=NotRepeated(rounding_only=("y",)))
    result = check_determinism(model("reference"), model("candidate"))
    assert (result.holds, result.outcome.claims) == (True, ())
    assert len(result.outcome.findings) == 1


def test_each_runtime_is_released_after_its_second_run(repeats):
    repeats()
    handles = Handle(), Handle()
    check_determinism(*(model(str(n), handle=each) for n, each in enumerate(handles)))
    assert [each.released for each in handles] == [1, 1]


@pytest.mark.parametrize("ample", [True, False])
def test_both_models_run_at_a_time_where_memory_suffices_for_both(monkeypatch, ample):
    handles = {role: Handle() for role in ("reference", "candidate")}
    handles["candidate"].runs_beside_another = ample
    # Two that wait for each other pass only if they run at a time.
    together = threading.Barrier(2)

    def repeated(each):
        if ample:
            together.wait(30)
        else:
            assert each.role == "reference" or handles["reference"].released
        return NotRepeated()

    monkeypatch.setattr(evaluate, "compare_repeated_runs", repeated)
    sides = (model(role, handle=handle, isolated=True) for role, handle in handles.items())
    assert check_determinism(*sides).holds


def test_a_failure_is_a_finding_and_leaves_the_verdict_unknown():
    error = RuntimeFailedError("NOT_SUPPORTED", "it refuses", node="n")
    outcome = failure_outcome(
        (model("reference"), model("candidate", ("run", error))), SAMPLE, bisect=True
    )
    assert [each.code for each in outcome.findings] == ["NOT_SUPPORTED"]
    assert [each.what for each in outcome.skipped] == ["candidate: run"]
    (claim,) = outcome.claims
    assert claim.verdict is Verdict.UNKNOWN
    assert claim.unmeasured_reason == "candidate: it refuses, at node 'n'"
    assert outcome.abort_reason == ""


@pytest.mark.parametrize("code", sorted(FATAL))
def test_after_a_failure_that_cost_the_runtime_its_life_nothing_more_is_run(code):
    error = RuntimeFailedError(code, "it died")
    outcome = failure_outcome((model("candidate", ("run", error)),), SAMPLE, bisect=False)
    assert code in outcome.abort_reason


def test_the_node_behind_a_crash_is_searched_for_where_that_is_wanted_and_once(monkeypatch):
    searched = []

    def named(model, error):
        searched.append(model.role)
        return RuntimeFailedError(error.code, error.what, node="n")

    monkeypatch.setattr(evaluate, "_with_node", named)
    crash = ("run", RuntimeFailedError("RUNTIME_CRASHED", "it died"))
    both = model("reference", crash, handle=Handle()), model("candidate", crash, handle=Handle())
    assert failure_outcome(both, SAMPLE, bisect=True).findings[0].node == "n"
    assert searched == ["reference"]
    failure_outcome(both, SAMPLE, bisect=False)
    failure_outcome((model("reference", crash),), SAMPLE, bisect=True)
    assert searched == ["reference"]


def test_an_error_that_is_not_the_runtimes_is_raised():
    error = UsageError("BAD_OPTION", "wrong use")
    with pytest.raises(UsageError):
        failure_outcome((model("candidate", ("run", error)),), SAMPLE, bisect=False)


def test_an_overflow_is_reported_once(monkeypatch):
    monkeypatch.setattr(overflow, "hidden_overflow", lambda _: iter([finding(overflow.CODE)]))
    assert [each.code for each in overflow_outcome(None, ()).findings] == [overflow.CODE]
    assert overflow_outcome(None, (finding(overflow.CODE),)).findings == ()


def test_an_overflow_that_cannot_be_looked_for_is_skipped(monkeypatch):
    def broken(_):
        raise RuntimeFailedError("X", "broken")

    monkeypatch.setattr(overflow, "hidden_overflow", broken)
    (skipped,) = overflow_outcome(None, ()).skipped
    assert skipped.what == "the search for overflow in float16"

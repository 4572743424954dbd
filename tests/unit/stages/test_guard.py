"""What a baseline lets pass, and what it does not."""

from datetime import date

import pytest

from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import Budget, Distance, Divergence, Part, Verdict
from isomorph.core.errors import UsageError
from isomorph.core.report import Report
from isomorph.stages.guard import acceptances, guarded

TODAY = date(2026, 11, 15)


def _report(output, verdict=Verdict.DIVERGENT):
    return Report(
        verdict=verdict,
        reason="as told",
        command="check",
        seed=0,
        draws=3,
        false_alarm=1e-6,
        outputs=(output,),
        coverage=Coverage(
            given=1, inputs=1, values=4, outputs=(OutputCoverage(output="y", within=1),)
        ),
    )


def _output(verdict=Verdict.DIVERGENT, *, distance=None, shape=(4,)):
    budget = Budget(derivation="none", ratio=None)
    observed = None if distance is None else Part(distance=distance, budget=budget)
    return Divergence(
        reference_output="y",
        candidate_output="y",
        verdict=verdict,
        reason="as told",
        shape=shape,
        dtype="float32",
        observed=observed,
    )


def _words(differing):
    unknown = dict.fromkeys(("max_abs", "max_rel", "max_ulp", "rms", "relative_l2", "sqnr_db"))
    unknown |= dict.fromkeys(("cosine", "argmax_agreement", "worst_index"))
    counts = {"nonfinite_mismatch": 0, "signed_zero_mismatch": 0}
    return Distance(elements=4, compared=4, differing=differing, **counts, **unknown)


def _state(then, now):
    entries = acceptances(_report(then), why="w", who="Ada", when=TODAY, until=None, pair="p")
    held = guarded(_report(now), "b.toml", entries, today=TODAY, pair="p")
    (standing,) = held.baseline.standings
    return standing.state, held.exit_code


def test_more_words_that_differ_are_worse():
    then = _output(distance=_words(1))
    assert _state(then, then) == ("unchanged", 0)
    assert _state(then, _output(distance=_words(2))) == ("worse", 1)


def test_another_shape_is_not_what_was_accepted():
    then = _output(shape=(4, 3))
    assert _state(then, then) == ("unchanged", 0)
    assert _state(then, _output(shape=(3, 4))) == ("worse", 1)
    assert _state(then, _output(distance=_words(1), shape=(4, 3))) == ("worse", 1)


def test_what_was_fixed_excuses_no_other_divergence():
    """The verdict may rest on the order of the outputs, while none of them differs by itself."""
    report = _report(_output(distance=_words(1)))
    entries = acceptances(report, why="w", who="Ada", when=TODAY, until=None, pair="p")
    healed = _report(_output(Verdict.EQUIVALENT, distance=_words(0)))
    held = guarded(healed, "b.toml", entries, today=TODAY, pair="p")
    assert [each.state for each in held.baseline.standings] == ["fixed"]
    assert held.exit_code == 1
    with pytest.raises(UsageError, match="no output of the report is divergent") as caught:
        acceptances(healed, why="w", who="Ada", when=TODAY, until=None, pair="p")
    assert "as told" in caught.value.why

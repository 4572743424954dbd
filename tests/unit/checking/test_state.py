"""What was found until somebody interrupts is a report of its own."""

import pytest

from isomorph.checking.options import CheckOptions
from isomorph.checking.state import CheckState
from isomorph.core.divergence import Verdict
from isomorph.core.interruption import InterruptedCheck


def _interrupted(*found):
    work = CheckState(CheckOptions(seed=7))
    for verdict, reason in found:
        work.raise_verdict(verdict, reason)
    with pytest.raises(InterruptedCheck) as stopped, work.kept():
        raise KeyboardInterrupt
    return stopped.value.report


@pytest.mark.parametrize("before", [(), ((Verdict.EQUIVALENT, "the same"),)])
def test_what_was_not_finished_is_not_known(before):
    report = _interrupted(*before)
    assert (report.verdict, report.reason) == (Verdict.UNKNOWN, "interrupted")
    assert report.skipped[-1].why == "it was interrupted"
    assert report.seed == 7


def test_a_divergence_that_was_measured_stays_one():
    report = _interrupted((Verdict.DIVERGENT, "the graphs differ"))
    assert report.verdict is Verdict.DIVERGENT
    assert report.reason == "interrupted, and by then: the graphs differ"


def test_an_interruption_is_caught_as_one():
    assert issubclass(InterruptedCheck, KeyboardInterrupt)


def test_other_errors_pass_through():
    with pytest.raises(ZeroDivisionError), CheckState(CheckOptions()).kept():
        raise ZeroDivisionError

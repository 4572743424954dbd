"""The report of a check that is interrupted."""

import pytest

from isomorph.checking.config import CheckConfig
from isomorph.checking.report import logged_check
from isomorph.checking.verdict import Claim, Outcome
from isomorph.core.divergence import Verdict
from isomorph.core.interruption import InterruptedCheck
from isomorph.core.messages import message


def _stopped_check(*claims):
    with logged_check(CheckConfig(seed=7)) as log:
        log.add(Outcome(claims=tuple(Claim(verdict=v, reason=reason) for v, reason in claims)))
        raise KeyboardInterrupt


def _interrupted(*claims):
    with pytest.raises(InterruptedCheck) as stopped:
        _stopped_check(*claims)
    return stopped.value.report


@pytest.mark.parametrize("before", [(), ((Verdict.EQUIVALENT, "the same"),)])
def test_an_unfinished_check_is_unknown(before):
    report = _interrupted(*before)
    assert (report.verdict, report.reason) == (Verdict.UNKNOWN, message("UNKNOWN.interrupted"))
    assert report.skipped[-1].why == "it was interrupted"
    assert report.seed == 7


def test_a_divergence_that_was_measured_stays_one():
    report = _interrupted((Verdict.DIVERGENT, "the graphs differ"))
    assert report.verdict is Verdict.DIVERGENT
    assert report.reason == "interrupted; until then: the graphs differ"


def test_an_interruption_is_a_keyboard_interrupt():
    assert issubclass(InterruptedCheck, KeyboardInterrupt)


def test_other_errors_pass_through():
    with pytest.raises(ZeroDivisionError), logged_check(CheckConfig()):
        raise ZeroDivisionError

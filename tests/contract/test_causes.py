"""What every cause promises, checked for each one that is registered."""

import inspect

import pytest

from cause_examples import EXAMPLES, RUNS
from isomorph import registry
from isomorph.diagnose.diagnose import diagnoses

NAMES = registry.names("causes")
EVERY = [(name, *pair) for name, pair in EXAMPLES.items()]
EVERY += [(name, *pair) for name, pair in RUNS.items()]


def heard(name, case):
    """What it says of its own cause; an answer of certainty 0 refutes it."""
    answers = registry.cause(name).examine(case)
    return [each for each in answers if each.cause == name and each.certainty]


def test_there_are_thirteen_and_each_has_its_examples():
    assert len(NAMES) == 13
    assert set(EXAMPLES) == set(NAMES)


@pytest.mark.parametrize(("name", "speaks"), [(name, speaks) for name, speaks, _ in EVERY])
def test_it_speaks_where_it_must(name, speaks):
    case = speaks()
    assert heard(name, case), "it stayed silent"
    assert diagnoses(case)[0].cause == name, "another cause was believed before it"


@pytest.mark.parametrize(("name", "silent"), [(name, silent) for name, _, silent in EVERY])
def test_it_stays_silent_where_it_must(name, silent):
    assert not heard(name, silent())


@pytest.mark.parametrize(("name", "speaks"), [(name, speaks) for name, speaks, _ in EVERY])
def test_what_it_says_can_be_shown(name, speaks):
    for answer in heard(name, speaks()):
        assert answer.summary
        assert 1 <= answer.certainty <= 4
        for experiment in answer.experiments:
            assert experiment.question.endswith("?")
            assert experiment.change
            assert experiment.predicts
            assert experiment.seen


@pytest.mark.parametrize("name", NAMES)
def test_its_docstring_says_what_it_is_and_how_it_is_recognized(name):
    text = inspect.getdoc(registry.cause(name))
    first, _, rest = text.partition("\n\n")
    assert first.endswith(".")
    assert "Recognized" in rest

"""What every cause promises, checked for each one that is registered."""

import inspect

import pytest

from cause_examples import EXAMPLES, RUNS
from isomorph import registry
from isomorph.diagnose.diagnose import diagnoses

NAMES = registry.names("causes")
EVERY = [(name, *pair) for name, pair in EXAMPLES.items()]
EVERY += [(name, *pair) for name, pair in RUNS.items()]


def own_answers(name, context):
    """Its answers about its own cause; an answer of certainty 0 refutes it."""
    answers = registry.cause(name).examine(context)
    return [each for each in answers if each.cause == name and each.certainty]


def test_there_are_thirteen_and_each_has_its_examples():
    assert len(NAMES) == 13
    assert set(EXAMPLES) == set(NAMES)


@pytest.mark.parametrize(("name", "positive"), [(name, positive) for name, positive, _ in EVERY])
def test_it_answers_where_it_must(name, positive):
    context = positive()
    assert own_answers(name, context), "it gave no answer"
    assert diagnoses(context)[0].cause == name, "another cause was believed before it"


@pytest.mark.parametrize(("name", "negative"), [(name, negative) for name, _, negative in EVERY])
def test_it_gives_no_answer_elsewhere(name, negative):
    assert not own_answers(name, negative())


@pytest.mark.parametrize(("name", "positive"), [(name, positive) for name, positive, _ in EVERY])
def test_its_answers_are_complete(name, positive):
    for answer in own_answers(name, positive()):
        assert answer.summary
        assert 1 <= answer.certainty <= 4
        for experiment in answer.experiments:
            assert experiment.question.endswith("?")
            assert experiment.change
            assert experiment.predicts
            assert experiment.seen


@pytest.mark.parametrize("name", NAMES)
def test_its_docstring_has_a_summary_and_how_it_is_recognized(name):
    text = inspect.getdoc(registry.cause(name))
    first, _, rest = text.partition("\n\n")
    assert first.endswith(".")
    assert "Recognized" in rest

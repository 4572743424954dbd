"""Runs that are off although the graph is right: what is asked, and what follows."""

from dataclasses import replace

import numpy as np
import pytest

from cause_examples import wrong_run
from isomorph import registry
from isomorph.core.execution import Switch
from isomorph.diagnose.diagnose import diagnoses
from isomorph.diagnose.narrow_float import cut_off, narrowed


def best(context):
    return next(each for each in diagnoses(context) if each.certainty)


def test_a_kernel_that_reads_subnormal_numbers_as_zero_is_recognized():
    plain = wrong_run()
    context = wrong_run(imitated=lambda _: plain.wrong)
    answer = best(context)
    assert (answer.cause, answer.certainty) == ("kernel", 3)
    assert "subnormal numbers as zero" in answer.summary
    assert any("subnormal" in each.question and each.agrees for each in answer.experiments)


def test_a_kernel_is_only_likely_where_nothing_sets_it_right():
    answer = best(wrong_run())
    assert (answer.cause, answer.certainty) == ("kernel", 2)
    assert "subnormal" not in answer.summary


@pytest.mark.parametrize(
    ("kind", "way"),
    [("bfloat16", narrowed), ("tf32", narrowed), ("tf32", cut_off), ("float16", narrowed)],
)
def test_a_narrow_type_leaves_its_fingerprint(kind, way):
    plain = wrong_run()
    # A run that is what the oracle gives for inputs of the narrow type, and a little noise.
    inputs = np.linspace(-3.0, 3.0, plain.right.size).reshape(plain.right.shape) + 0.1234567
    off = way(inputs, kind)

    def imitated(change):
        return change(inputs)

    context = replace(
        wrong_run(imitated=imitated), right=inputs, wrong=off * (1 + 1e-7), equals=lambda _: False
    )
    answers = list(registry.cause("precision").examine(context))
    assert [answer.certainty for answer in answers] == [2]
    assert kind in answers[0].summary
    assert answers[0].experiments[-1].agrees


def test_full_precision_that_restores_confirms():
    answer = best(wrong_run(right=lambda changed: changed.get("dtype") == "full"))
    assert (answer.cause, answer.certainty) == ("precision", 3)
    assert "with full precision it is right" in answer.summary
    assert "--set dtype=full" in answer.fix


def test_what_only_one_type_explains_is_that_type():
    """The marks of float16 and TF32 are alike; a switch of TF32 tells them apart."""
    off = Switch(name="TF32 off", settings={"tf32": "no"}, kind="precision", dtype="tf32")
    context = wrong_run(
        right=lambda changed: changed.get("tf32") == "no",
        imitated=lambda _: None,
    )
    context = replace(context, execution=replace(context.execution, switches=(off,)))
    [answer] = registry.cause("precision").examine(context)
    assert "computes in tf32" in answer.summary
    assert answer.evidence["type"] == "tf32"


def test_what_was_refuted_is_kept():
    refuted = [each for each in diagnoses(wrong_run()) if not each.certainty]
    assert {each.cause for each in refuted} >= {"fusion", "precision"}
    assert all(each.experiments and not each.experiments[0].agrees for each in refuted)


def test_threads_that_race_are_distinguished_from_random_nodes():
    answer = best(wrong_run(steady=lambda changed: changed.get("threads") == "1"))
    assert answer.cause == "nondeterminism"
    assert "with one thread it repeats itself" in answer.summary


def test_a_result_that_depends_on_the_number_of_threads():
    answer = best(wrong_run(right=lambda changed: changed.get("threads") == "1"))
    assert (answer.cause, answer.certainty) == ("nondeterminism", 3)
    assert answer.fix == "run with --set threads=1"


def test_no_single_optimizer_leaves_the_level():
    def right(changed):
        return changed.get("optimization") == "none"

    answer = best(wrong_run(right=right))
    assert answer.cause == "fusion"
    assert "a basic optimizer changed the result" in answer.summary
    assert any("with none of them off" in each.seen for each in answer.experiments)


def test_causes_of_graphs_are_not_asked_about_runs():
    assert not {each.cause for each in diagnoses(wrong_run())} & {"attribute", "weight", "layout"}

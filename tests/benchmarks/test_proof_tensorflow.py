"""Proofs of changed TensorFlow expressions are compared with what TensorFlow computes."""

import numpy as np
import pytest
import tensorflow as tf
from benchmarks import proof_tensorflow
from benchmarks.networks.tensorflow_expressions import (
    KINDS,
    Step,
    applied,
    changed_steps,
    random_steps,
)

import isomorph


def test_no_changed_expression_is_proven(capsys):
    assert proof_tensorflow.main(["--count", "4", "--seed", "2"]) == 0
    words = capsys.readouterr().out
    assert "FALSE" not in words
    assert '"conversions proven"' in words


def test_a_false_proof_is_found(monkeypatch, capsys):
    class Claims:
        whole = True

    monkeypatch.setattr(isomorph, "prove", lambda *_, **__: Claims())
    assert proof_tensorflow.main(["--count", "4", "--seed", "2"]) == 1
    assert "FALSE [2, " in capsys.readouterr().out


def test_random_steps_can_be_applied_in_both_widths():
    random = np.random.default_rng(0)
    steps = random_steps(random, (2, 6, 7, 4), whole=False)
    assert steps
    assert all(step.name in KINDS for step in steps)
    x = random.normal(size=(2, 6, 7, 4))
    wide = applied(steps, tf.constant(x)).numpy()
    narrow = applied(steps, tf.constant(x.astype(np.float32))).numpy()
    assert (wide.dtype, narrow.dtype) == (np.float64, np.float32)
    assert wide.shape == narrow.shape


@pytest.mark.parametrize("seed", range(4))
def test_a_change_leaves_the_other_expression_alone(seed):
    step = Step(name="clipped", stated={"low": 0.0, "high": 6.0}, seed=1)
    changed, what = changed_steps([step], np.random.default_rng(seed))
    assert what.startswith("clipped")
    assert step.stated == {"low": 0.0, "high": 6.0}
    assert (changed[0].stated, changed[0].nudged) != (step.stated, step.nudged)


def test_a_nudged_constant_changes_the_result():
    step = Step(name="bias", stated={}, seed=1)
    nudged = Step(name="bias", stated={}, seed=1, nudged=True)
    x = tf.zeros((3, 4))
    assert not np.array_equal(applied([step], x), applied([nudged], x))

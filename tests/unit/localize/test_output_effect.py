"""Whether outputs show that a correction is right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.localize.output_effect import Effect, nearer


def _outputs(seed, share, noise):
    """Outputs whose error is a share of what a correction changes, and a little noise."""
    random = np.random.default_rng(seed)
    actual, step = random.normal(size=(2, 40))
    expected = actual - share * step + noise * random.normal(size=40)
    return expected, actual, actual - step


@pytest.mark.parametrize(
    ("share", "effect"),
    [(1.0, Effect.SHOWN), (0.8, Effect.SHOWN), (0.0, Effect.REFUTED), (0.2, Effect.REFUTED)],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_an_error_is_what_a_correction_removes_or_adds(share, effect, seed):
    assert nearer([_outputs(seed, share, 0.01)]) is effect


@given(
    seed=st.integers(0, 2**32 - 1),
    share=st.floats(2.0, 1e4).flatmap(lambda each: st.sampled_from([each, -each])),
)
def test_an_error_far_larger_than_a_correction_has_another_cause(seed, share):
    assert nearer([_outputs(seed, share, 0.01)]) is Effect.UNDECIDED


@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.0, 1.0]))
def test_noise_that_hides_a_correction_decides_nothing(seed, share):
    assert nearer([_outputs(seed, share, 1e3)]) is Effect.UNDECIDED


@pytest.mark.parametrize(
    ("expected", "actual", "effect"),
    [(3, 4, Effect.SHOWN), (4, 3, Effect.UNDECIDED), (4, 4, Effect.REFUTED)],
)
def test_a_correction_that_changes_a_shape_is_judged_by_it(expected, actual, effect):
    right = 5 if effect is Effect.UNDECIDED else 3
    shapes = [np.zeros((2, each)) for each in (expected, actual, right)]
    assert nearer([tuple(shapes)]) is effect


def test_one_step_of_a_grid_refutes_nothing():
    actual = np.float64([3.0, -7.0, 12.0, 0.0, 5.0, 90.0])
    right = actual.copy()
    right[3] += 0.25
    assert nearer([(actual, actual, right)]) is Effect.REFUTED
    assert nearer([(actual, actual, right)], on_grid=True) is Effect.UNDECIDED
    assert nearer([(right, actual, right)], on_grid=True) is Effect.SHOWN


def test_many_steps_of_a_grid_decide():
    actual = np.arange(40.0)
    right = actual + 0.25 * np.resize([9, -14, 11, -8], 40)
    assert nearer([(actual, actual, right)], on_grid=True) is Effect.REFUTED
    assert nearer([(right, actual, right)], on_grid=True) is Effect.SHOWN

"""Draws of equal noise share what the noise moves; all others share what no noise moves."""

import numpy as np
import pytest

from isomorph.core.trace import Noise
from isomorph.oracle.shared_constants import MadeWeights, SharedByNoise, keeps_constants
from isomorph.oracle.value import EvalValue

_ROUNDING, _OTHER = Noise(seed=1, rounding=True), Noise(seed=2, rounding=True)


def test_draws_come_noise_by_noise_and_release_what_the_last_noise_moved():
    shared = SharedByNoise.of([_ROUNDING, _OTHER, _ROUNDING])
    order, seen = [], []
    for place, own in shared.each():
        order.append(place)
        seen.append(dict(own.stored))
        own.stored["w"] = EvalValue(np.ones(2), constant=True)
    assert order == [0, 2, 1]
    assert [sorted(each) for each in seen] == [[], ["w"], []]


def test_noise_that_leaves_constants_alone_has_what_follows_from_them_in_common():
    noises = [_ROUNDING, None, Noise(seed=1, quantizers=True)]
    first, plain, quantized = (own for own, _ in SharedByNoise.of(noises).groups)
    assert first.unchanged is plain.unchanged
    assert first.weights is plain.weights
    assert first.moved is not plain.moved
    assert quantized.unchanged is not plain.unchanged
    assert quantized.weights is not plain.weights


@pytest.mark.parametrize(
    ("noise", "kept"),
    [
        (None, True),
        (_ROUNDING, True),
        (Noise(seed=0, constants=("w",)), True),
        (Noise(seed=0, quantizers=True), False),
        (Noise(seed=0, attributes=True), False),
        (Noise(seed=0, run_dtype="float16"), False),
    ],
)
def test_which_noise_leaves_what_nodes_make_of_constants(noise, kept):
    assert keeps_constants(noise) is kept


def test_weights_are_made_once_of_the_same_constants_at_the_same_node():
    weights, made = MadeWeights(), []
    one, other = EvalValue(np.ones(2)), EvalValue(np.ones(2))

    def make():
        made.append(1)
        return np.zeros(2)

    found = weights.of((1,), [one], make)
    assert weights.of((1,), [one], make) is found
    assert weights.of((1,), [other], make) is not found
    assert weights.of((2,), [one], make) is not found
    weights.clear()
    assert weights.of((1,), [one], make) is not found
    assert len(made) == 4

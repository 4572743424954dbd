"""Greedy decoding with caches that grow, that are buffers, or of which only the new is returned."""

import numpy as np
import pytest

from described_decoders import model, spec, words
from isomorph.core.decoding import Start
from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.decoding.beginning import Given, first_state
from isomorph.decoding.rollout import decode, last_scores, whole_text
from isomorph.decoding.signature import decoder_signature

CONSTANTS, GATHER = words(61)
SIGNATURE = decoder_signature(
    model(
        [spec("input_ids", ("batch", "tokens"), "int64"), spec("past_0", ("batch", 1, "past", 1))],
        [spec("logits", ("batch", "tokens", 61)), spec("present_0", ("batch", 1, "total", 1))],
        [GATHER],
        constants=CONSTANTS,
    ),
    "reference",
    {},
)


def sums(returned):
    """A model that caches its tokens and chooses the sum of all of them, modulo the words."""

    def run(feeds):
        new = feeds["input_ids"].astype(np.float32)[:, None, :, None]
        whole = np.concatenate([feeds["past_0"], new], axis=2)
        scores = np.zeros((*feeds["input_ids"].shape, 61), np.float32)
        scores[:, -1, int(whole.sum()) % 61] = 1
        return {"logits": scores, "present_0": returned(new, whole)}

    return run


def first(prompt, **more):
    given = Given(arrays={"input_ids": np.array([prompt]), **more}, dims={}, seed=0)
    return first_state(SIGNATURE, given, Start.EMPTY)


@pytest.mark.parametrize("returned", [lambda new, whole: whole, lambda new, whole: new])
@pytest.mark.parametrize("at_once", [None, 1])
def test_each_token_follows_from_all_before_it(returned, at_once):
    runs = list(decode(sums(returned), SIGNATURE, first([1, 2]), 3, at_once=at_once))
    chosen = [int(run.chosen[0]) for run in runs][-4:]
    assert chosen == [3, 6, 12, 24]
    assert [run.number for run in runs] == ([0] if at_once is None else [0, 0]) + [1, 2, 3]
    assert [run.state.cached for run in runs][-3:] == [2, 3, 4]
    assert runs[-1].feeds["past_0"].ravel().tolist() == [1, 2, 3, 6]


def test_a_cache_that_fits_no_next_step_is_an_error():
    run = sums(lambda new, whole: np.concatenate([whole, new, new], axis=2))
    with pytest.raises(RuntimeFailedError) as caught:
        list(decode(run, SIGNATURE, first([1, 2]), 2, at_once=None))
    assert caught.value.code == "CACHE_SHAPE"


def test_an_encoder_cache_that_is_not_returned_again_stays():
    run = sums(lambda new, whole: whole if whole.shape[2] == 2 else whole[:, :, :0])
    runs = list(decode(run, SIGNATURE, first([1, 2]), 2, at_once=None))
    assert runs[-1].feeds["past_0"].ravel().tolist() == [1, 2]


def test_several_tokens_at_every_step_cannot_decode():
    with pytest.raises(UsageError) as caught:
        list(decode(sums(lambda new, whole: whole), SIGNATURE, first([1]), 1, at_once=4))
    assert caught.value.code == "FIXED_TOKENS"


def test_scores_are_those_of_the_last_position():
    logits = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    assert last_scores(logits).tolist() == [[4, 5], [10, 11]]
    assert last_scores(logits[:, 0]).tolist() == [[0, 1], [6, 7]]


def test_a_whole_text_is_the_prompt_with_what_was_decoded():
    state = whole_text(first([1, 2]), np.array([[7, 8]]))
    assert state.tokens.tolist() == [[1, 2, 7, 8]]
    assert state.mask.tolist() == [[1, 1, 1, 1]]
    assert state.cached == 0


def test_a_buffer_as_long_as_the_prompt_is_replaced_and_not_joined():
    signature = decoder_signature(
        model(
            [spec("input_ids", (1, "tokens"), "int64"), spec("past_0", (1, 1, 2, 1))],
            [spec("logits", (1, "tokens", 61)), spec("present_0", (1, 1, 2, 1))],
            [GATHER],
            constants=CONSTANTS,
        ),
        "reference",
        {},
    )
    given = Given(arrays={"input_ids": np.array([[1, 2]])}, dims={}, seed=0)
    run = sums(lambda new, whole: whole[:, :, :2] + 1)
    runs = list(
        decode(run, signature, first_state(signature, given, Start.BUFFER), 1, at_once=None)
    )
    assert runs[-1].feeds["past_0"].ravel().tolist() == [1, 1]

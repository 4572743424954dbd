"""How decoding begins: prompts, empty caches, buffers, and what cannot be decoded."""

import numpy as np
import pytest

from described_decoders import model, spec, words
from isomorph.core.decoding import Start
from isomorph.core.decoding_limits import GENERATED_POSITIONS, PROMPT_TOKENS
from isomorph.core.errors import UsageError
from isomorph.decoding.beginning import Given, first_state, given_arrays, usual_start
from isomorph.decoding.signature import decoder_signature

CONSTANTS, GATHER = words(61)


def signature_of(taken, returned, *more):
    made = model(
        [spec("input_ids", ("batch", "tokens"), "int64"), *more, spec("past_0", taken)],
        [spec("logits", ("batch", "tokens", 61)), spec("present_0", returned)],
        [GATHER],
        constants=CONSTANTS,
    )
    return decoder_signature(made, "reference", {})


GROWING = signature_of(("batch", 2, "past", 8), ("batch", 2, "total", 8))


def given(**arrays):
    return Given(arrays=arrays, dims={}, seed=0)


def test_a_generated_prompt_stays_in_the_vocabulary_and_repeats():
    states = [first_state(GROWING, given(), Start.EMPTY) for _ in range(2)]
    tokens = states[0].tokens
    assert tokens.shape == (1, PROMPT_TOKENS)
    assert tokens.min() >= 0
    assert tokens.max() < 61
    assert np.array_equal(tokens, states[1].tokens)
    assert states[0].caches["past_0"].shape == (1, 2, 0, 8)
    assert (states[0].cached, states[0].mask.tolist()) == (0, [[1] * PROMPT_TOKENS])


def test_stated_sizes_are_those_of_the_prompt():
    sized = Given(arrays={}, dims={"batch": 3, "tokens": 5}, seed=0)
    state = first_state(GROWING, sized, Start.EMPTY)
    assert state.tokens.shape == (3, 5)
    assert state.caches["past_0"].shape == (3, 2, 0, 8)


def test_a_single_array_is_the_prompt():
    arrays = given_arrays(GROWING, {"anything": np.array([[1, 2, 3]])})
    assert list(arrays) == ["input_ids"]
    assert first_state(GROWING, given(**arrays), Start.EMPTY).tokens.tolist() == [[1, 2, 3]]


def test_an_unknown_array_is_an_error():
    with pytest.raises(UsageError) as caught:
        given_arrays(GROWING, {"input_ids": np.array([[1]]), "other": np.zeros(1)})
    assert caught.value.code == "UNKNOWN_INPUT"


def test_generated_caches_hold_a_few_positions():
    state = first_state(GROWING, given(), Start.GENERATED)
    assert state.cached == GENERATED_POSITIONS
    assert state.caches["past_0"].shape == (1, 2, GENERATED_POSITIONS, 8)
    assert np.abs(state.caches["past_0"]).max() > 0
    assert state.mask.shape == (1, GENERATED_POSITIONS + PROMPT_TOKENS)


def test_given_caches_are_where_decoding_begins():
    arrays = {"past_0": np.ones((1, 2, 3, 8), np.float32), "input_ids": np.array([[4]])}
    assert usual_start(GROWING, given(**arrays)) is Start.GIVEN
    assert first_state(GROWING, given(**arrays), Start.GIVEN).cached == 3


def test_a_buffer_is_empty_though_it_has_positions():
    buffer = signature_of((1, 2, 16, 8), (1, 2, 16, 8))
    assert usual_start(buffer, given()) is Start.BUFFER
    state = first_state(buffer, given(), Start.BUFFER)
    assert (state.cached, state.caches["past_0"].shape) == (0, (1, 2, 16, 8))


def test_keys_and_values_in_one_tensor_have_the_batch_behind_them():
    both = signature_of((2, None, 4, "past", 8), (2, None, 4, "total", 8))
    assert first_state(both, given(), Start.EMPTY).caches["past_0"].shape == (2, 1, 4, 0, 8)


@pytest.mark.parametrize(
    ("taken", "returned", "code"),
    [
        ((1, 2, 15, 8), (1, 2, 16, 8), "CACHE_FIXED"),
        (("batch", "heads", "past", 8), ("batch", "heads", "total", 8), "UNBOUND_DIM"),
    ],
)
def test_caches_that_cannot_begin_are_refused(taken, returned, code):
    with pytest.raises(UsageError) as caught:
        first_state(signature_of(taken, returned), given(), Start.EMPTY)
    assert caught.value.code == code


def test_a_mask_that_does_not_fit_the_prompt_is_an_error():
    masked = signature_of(
        ("batch", 2, "past", 8), ("batch", 2, "total", 8),
        spec("attention_mask", ("batch", "total"), "int64"),
    )  # fmt: skip
    arrays = {"input_ids": np.array([[1, 2]]), "attention_mask": np.ones((1, 3), np.int64)}
    with pytest.raises(UsageError) as caught:
        first_state(masked, given(**arrays), Start.EMPTY)
    assert caught.value.code == "INPUT_SHAPE"

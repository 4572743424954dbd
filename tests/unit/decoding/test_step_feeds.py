"""The arrays of one step: tokens, masks of every form, positions and lengths."""

from dataclasses import replace

import numpy as np

from described_decoders import model, spec, words
from isomorph.decoding.signature import decoder_signature
from isomorph.decoding.step_feeds import State, step_feeds

CONSTANTS, GATHER = words(61)


def feeds_of(*more, state=None):
    made = model(
        [spec("input_ids", ("batch", "tokens"), "int64"), *more],
        [spec("logits", ("batch", "tokens", 61))],
        [GATHER],
        constants=CONSTANTS,
    )
    signature = decoder_signature(made, "reference", {})
    return step_feeds(signature, state or STATE)


STATE = State(
    tokens=np.array([[7, 8], [9, 10]]),
    mask=np.array([[1, 1, 1, 1, 1], [0, 1, 1, 1, 1]]),
    cached=3,
    caches={},
    constants={},
)


def test_positions_count_what_the_mask_keeps():
    found = feeds_of(spec("position_ids", ("batch", "tokens"), "int64"))
    assert found["position_ids"].tolist() == [[3, 4], [2, 3]]
    assert found["input_ids"].tolist() == [[7, 8], [9, 10]]


def test_positions_of_one_axis_are_those_of_the_first_row():
    assert feeds_of(spec("positions", ("tokens",), "int64"))["positions"].tolist() == [3, 4]


def test_a_plain_mask_covers_cached_positions_and_tokens():
    found = feeds_of(spec("attention_mask", ("batch", "total"), "int64"))["attention_mask"]
    assert found.tolist() == STATE.mask.tolist()
    assert found.dtype == np.int64


def test_a_mask_of_a_buffer_ends_where_nothing_was_written():
    found = feeds_of(spec("attention_mask", ("batch", 7), "bool"))["attention_mask"]
    assert found.tolist()[0] == [True] * 5 + [False] * 2


def test_a_square_mask_hides_what_comes_later():
    found = feeds_of(spec("attention_mask", ("batch", 1, "tokens", "total"), "float32"))
    mask = found["attention_mask"]
    assert mask.shape == (2, 1, 2, 5)
    lowest = np.finfo(np.float32).min
    assert mask[0, 0].tolist() == [[0, 0, 0, 0, lowest], [0] * 5]
    assert mask[1, 0, 0].tolist() == [lowest, 0, 0, 0, lowest]


def test_lengths_count_what_is_cached_and_what_is_added():
    found = feeds_of(
        spec("past_sequence_length", (), "int64"),
        spec("total_sequence_length", (1,), "int32"),
        spec("seqlens_k", ("batch",), "int32"),
        spec("use_cache_branch", (1,), "bool"),
    )
    assert found["past_sequence_length"].tolist() == 3
    assert found["total_sequence_length"].tolist() == [5]
    assert found["seqlens_k"].tolist() == [4, 4]
    assert found["use_cache_branch"].tolist() == [True]
    first = replace(STATE, cached=0)
    empty = feeds_of(spec("use_cache_branch", (1,), "bool"), state=first)
    assert empty["use_cache_branch"].tolist() == [False]

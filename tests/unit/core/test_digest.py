"""Digests know a stored value again: the same bytes, or the same values in any order."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isomorph.core import digest as digests
from isomorph.core.digest import SMALL, constant_of, has_digest, only_in_order, word

ANY = arrays.arrays(
    st.sampled_from([np.float32, np.float64, np.int8, np.int64, np.float16, np.complex64]),
    arrays.array_shapes(max_dims=3, max_side=5),
)


@given(ANY, st.randoms(use_true_random=False))
def test_the_order_of_elements_changes_one_digest_and_not_the_other(array, random):
    order = list(range(array.size))
    random.shuffle(order)
    shuffled = array.reshape(-1)[order].reshape(array.shape)
    one, other = constant_of("a", array), constant_of("b", shuffled)
    assert one.value_digest == other.value_digest
    assert (one.digest == other.digest) == (array.tobytes() == shuffled.tobytes())
    assert has_digest(array, one.digest)


@given(ANY, st.data())
def test_one_other_element_changes_both(array, data):
    place = data.draw(st.integers(0, array.size - 1))
    changed = array.copy()
    bits = changed.reshape(-1)[place : place + 1].view(np.uint8)
    bits[0] ^= 1
    one, other = constant_of("a", array), constant_of("a", changed)
    assert one.digest != other.digest
    assert one.value_digest != other.value_digest
    assert not has_digest(changed, one.digest)


def test_type_and_shape_belong_to_the_digest_and_the_shape_not_to_that_of_the_values():
    zeros = np.zeros((2, 3), np.float32)
    assert constant_of("a", zeros).digest != constant_of("a", zeros.T).digest
    assert constant_of("a", zeros).value_digest == constant_of("a", zeros.T).value_digest
    assert constant_of("a", zeros).value_digest != constant_of("a", zeros[:1]).value_digest
    assert constant_of("a", zeros).value_digest != constant_of("a", zeros.astype("i4")).value_digest


def test_how_an_array_lies_in_memory_does_not_matter():
    value = np.arange(12.0).reshape(3, 4)
    assert constant_of("a", value) == constant_of("a", np.asfortranarray(value))
    assert constant_of("a", value[:, ::2]) == constant_of("a", value[:, ::2].copy())


@pytest.mark.parametrize("shape", [(300, 1000), (1000, 300), (2, 140_000), (140_000, 2)])
def test_a_large_matrix_is_known_with_its_axes_exchanged(shape, monkeypatch):
    monkeypatch.setattr(digests, "_TURNED", 1 << 12)  # several blocks
    monkeypatch.setattr(digests, "_LARGE_MATRIX", 1 << 18)
    value = np.random.default_rng(0).normal(size=shape).astype(np.float16)
    one, other = constant_of("a", value), constant_of("b", value.T)
    assert one.turned_digest == other.digest
    assert other.turned_digest == one.digest
    assert constant_of("c", value[::-1].T).turned_digest != one.digest


def test_what_is_no_large_matrix_is_known_in_its_own_order_alone():
    for shape in ((20, 30), (1, 1 << 22), (1 << 22,), (4, 1024, 1024)):
        assert not constant_of("a", np.zeros(shape, np.int8)).turned_digest


def test_signs_of_zero_and_kinds_of_nan_are_kept_apart():
    assert constant_of("a", np.array([0.0])).digest != constant_of("a", np.array([-0.0])).digest
    nan = np.array([np.nan])
    assert constant_of("a", nan).digest == constant_of("a", nan.copy()).digest


def test_many_elements_are_mixed_in_blocks_and_each_counts(monkeypatch):
    value = np.arange(1000, dtype=np.float32)
    whole = constant_of("a", value)
    monkeypatch.setattr(digests, "_BLOCK", 7)
    assert constant_of("a", value) == whole
    value[-1] = 0
    assert constant_of("a", value).value_digest != whole.value_digest


def test_small_constants_keep_their_values():
    assert constant_of("a", np.arange(SMALL)).values == tuple(range(SMALL))
    assert constant_of("a", np.arange(SMALL + 1)).values is None
    assert constant_of("a", np.arange(SMALL + 1), body=True).values == tuple(range(SMALL + 1))


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.array([1, 2], ml_dtypes.int4), (1, 2)),
        (np.array([0.5], ml_dtypes.bfloat16), (0.5,)),
        (np.array([True, False]), (True, False)),
        (np.array([1 + 2j]), ("(1+2j)",)),
    ],
)
def test_values_are_plain_numbers_whatever_the_type(array, values):
    found = constant_of("a", array).values
    assert found == values
    assert [type(each) for each in found] == [type(each) for each in values]


def test_strings_are_known_by_their_words():
    words = np.array(["b", "a"], object)
    one, other = constant_of("w", words), constant_of("w", words[::-1])
    assert (one.dtype, one.values) == ("string", ("b", "a"))
    assert one.value_digest == other.value_digest
    assert one.digest != other.digest
    assert constant_of("w", np.array(["ba"], object)).digest != one.digest


def test_bytes_are_words_without_loss():
    assert word(b"caf\xc3\xa9") == "café"
    assert word(b"\xff").encode("utf-8", "surrogateescape") == b"\xff"


def test_where_only_order_counts_another_order_is_another_value():
    array = np.arange(6.0)
    usual = constant_of("a", array)
    with only_in_order():
        one, turned = constant_of("a", array), constant_of("a", array[::-1])
    assert one.digest == one.value_digest == usual.digest
    assert one.value_digest != turned.value_digest
    assert constant_of("a", array).value_digest == usual.value_digest != usual.digest

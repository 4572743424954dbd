"""Packed weights that another reading makes a rounding of the reference's."""

from dataclasses import replace

import numpy as np
import pytest

from isomorph.core.fault_context import Detail
from isomorph.match.blocked_weights import BlockedWeight
from isomorph.match.misread_weights import fair_numbers, misread
from isomorph.match.stored_weights import StoredWeight

ROWS, INNER, BLOCK = 12, 32, 8
WEIGHT = np.random.default_rng(0).normal(size=(ROWS, INNER))
OTHER = np.random.default_rng(1).normal(size=(ROWS, INNER))


def packed(bits=4, symmetric=False):
    """The weight as a quantizer of so many bits stores it, in blocks along its rows."""
    blocks = WEIGHT.reshape(ROWS, -1, BLOCK)
    low, high = np.minimum(blocks.min(-1), 0), np.maximum(blocks.max(-1), 0)
    last = 2**bits - 1
    scales, zeros = (high - low) / last, np.zeros(low.shape)
    ends = (0, last)
    if symmetric:
        ends = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        scales = np.abs(blocks).max(-1) / (last / 2)
    else:
        zeros = np.rint(-low / scales)
    steps, points = (np.repeat(each, BLOCK, axis=1) for each in (scales, zeros))
    stored = StoredWeight(
        name="w", dtype="uint8", shape=WEIGHT.shape, digest="", value_digest="", readers=()
    )
    return BlockedWeight(
        weight=stored, integers=np.clip(np.rint(WEIGHT / steps) + points, *ends).astype(np.int64),
        zeros=points, steps=steps, ends=ends, pack=lambda whole: whole, scale_dtype="float32",
        block=BLOCK,
    )  # fmt: skip


def turned(blocked):
    pairs = blocked.integers.reshape(ROWS, -1, 2)[..., ::-1]
    return replace(blocked, integers=pairs.reshape(ROWS, INNER))


def other_axis(blocked):
    scales = blocked.steps[:, ::BLOCK]
    return replace(blocked, steps=np.repeat(scales.T.reshape(scales.shape), BLOCK, axis=1))


def shifted(blocked):
    return replace(blocked, zeros=np.minimum(blocked.zeros + 1, blocked.ends[1]))


def scaled(blocked):
    return replace(blocked, steps=blocked.steps * 1.2)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_what_is_read_rightly_needs_no_other_reading(bits, symmetric):
    blocked = packed(bits, symmetric)
    assert fair_numbers(blocked, WEIGHT).all()
    assert misread(blocked, [OTHER, WEIGHT]) is None
    assert misread(blocked, []) is None


@pytest.mark.parametrize(
    ("change", "detail", "words"),
    [
        (turned, Detail.REORDERED, "opposite order"),
        (other_axis, Detail.SCALE, "along the other axis"),
        (shifted, Detail.ZERO_POINT, "zero point is off by 1"),
        (scaled, Detail.SCALE, "every scale is 1.2 times the right one"),
    ],
)
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_wrong_reading_is_named_and_has_its_own_numbers(change, detail, words, symmetric):
    blocked = change(packed(symmetric=symmetric))
    found = misread(blocked, [OTHER, WEIGHT])
    assert found is not None
    assert found.right is detail
    assert words in found.words
    # Without rounding it would be off by what is read wrongly, and that alone: half a step at most.
    apart = np.abs(found.unrounded - blocked.real)
    assert np.mean(apart <= 0.51 * np.abs(blocked.steps) * 1.2) > 0.9
    assert not np.allclose(found.unrounded, WEIGHT)


def test_a_common_factor_is_taken_out_exactly():
    found = misread(scaled(packed()), [WEIGHT])
    np.testing.assert_allclose(found.unrounded, 1.2 * WEIGHT, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("moved", [1, 40])
def test_what_no_reading_explains_has_none(moved):
    blocked = packed()
    integers = blocked.integers.copy()
    integers.flat[:: integers.size // moved] ^= 5
    found = misread(replace(blocked, integers=integers), [WEIGHT])
    assert found is not None
    assert found.right is None
    assert found.unrounded is None
    assert misread(packed(), [OTHER]).right is None


def test_a_factor_that_moves_no_number_by_half_a_step_is_none():
    blocked = packed()
    found = misread(replace(blocked, steps=blocked.steps * 1.01), [WEIGHT])
    assert found is None or found.right is None

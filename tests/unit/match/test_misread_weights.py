"""Packed weights that another reading makes a rounding of the reference's."""

from dataclasses import replace

import numpy as np
import pytest

from isomorph.core.fault_context import Detail
from isomorph.match.blocked_weights import BlockedWeight
from isomorph.match.misread_weights import misread
from isomorph.match.stored_weights import StoredWeight
from isomorph.match.weight_readings import fair_numbers

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


WIDE_BLOCK = 32
WIDE = np.random.default_rng(2).normal(size=(8, 2 * WIDE_BLOCK))


def in_wide_blocks(factors=1.0):
    """Blocks of 32 numbers, whose scales are multiplied after the numbers were rounded."""
    scales = np.abs(WIDE.reshape(8, -1, WIDE_BLOCK)).max(-1) / 7
    steps = np.repeat(scales, WIDE_BLOCK, axis=1)
    stored = StoredWeight(
        name="w", dtype="int4", shape=WIDE.shape, digest="", value_digest="", readers=()
    )
    return BlockedWeight(
        weight=stored, integers=np.rint(WIDE / steps).astype(np.int64), zeros=np.zeros(WIDE.shape),
        steps=steps * np.repeat(np.broadcast_to(factors, scales.shape), WIDE_BLOCK, axis=1),
        ends=(-8, 7), pack=lambda whole: whole, scale_dtype="float32", block=WIDE_BLOCK,
    )  # fmt: skip


def test_the_scale_of_one_block_is_found_among_others():
    factors = np.ones((8, 2))
    factors[3, 1] = 2.0
    found = misread(in_wide_blocks(factors), [WIDE])
    assert found.right is Detail.SCALE
    assert found.words.startswith("1 of 16 scales is 2")
    assert fair_numbers(found.weight, WIDE).all()


def test_scales_that_are_off_by_different_factors_are_counted():
    factors = np.exp(np.random.default_rng(3).normal(size=(8, 2)))
    found = misread(in_wide_blocks(factors), [WIDE])
    assert found.right is Detail.SCALE
    assert "16 scales are" in found.words


def test_a_scale_that_was_fitted_again_is_no_fault():
    found = misread(
        in_wide_blocks(1.0 + 0.02 * np.random.default_rng(4).normal(size=(8, 2))), [WIDE]
    )
    assert found is None or found.right is None


def test_signed_numbers_that_are_read_as_unsigned_ones():
    blocked = in_wide_blocks()
    turned_sign = np.where(blocked.integers < 0, blocked.integers + 8, blocked.integers - 8)
    found = misread(replace(blocked, integers=turned_sign), [WIDE])
    assert found.right is Detail.ZERO_POINT
    assert "unsigned" in found.words


def test_scales_of_channels_that_lie_along_another_axis():
    square = WIDE[:, :8] * np.exp(np.arange(8))[:, None]
    scales = np.abs(square).max(1) / 7
    right = np.broadcast_to(scales[:, None], square.shape)
    blocked = replace(
        in_wide_blocks(), integers=np.rint(square / right).astype(np.int64), block=0, axis=1,
        zeros=np.zeros(square.shape), steps=np.broadcast_to(scales, square.shape),
    )  # fmt: skip
    found = misread(blocked, [square])
    assert found.right is Detail.SCALE
    assert "other axis" in found.words


@pytest.mark.parametrize("seed", range(12))
def test_a_look_at_a_few_numbers_first_changes_no_answer(seed, monkeypatch):
    random = np.random.default_rng(seed)
    blocked = packed(bits=int(random.choice([4, 8])), symmetric=bool(seed % 2))
    change = (turned, other_axis, shifted, scaled)[seed % 4]
    if change is not turned or blocked.ends[1] - blocked.ends[0] < 16:
        blocked = change(blocked)
    if seed >= 8:  # One number that nothing explains, seldom among those that are looked at first.
        integers = blocked.integers.copy()
        at = tuple(random.integers(0, size) for size in integers.shape)
        integers[at] = blocked.ends[0] + blocked.ends[1] - integers[at]
        blocked = replace(blocked, integers=integers)
    quick = misread(blocked, [OTHER, WEIGHT])
    monkeypatch.setattr("isomorph.match.weight_readings._FEW", 10**9)
    monkeypatch.setattr("isomorph.match.misread_scales._FEW_BLOCKS", 10**9)
    whole = misread(blocked, [OTHER, WEIGHT])
    assert (quick is None) == (whole is None)
    if whole is not None:
        assert (quick.right, quick.words, quick.certain) == (
            whole.right,
            whole.words,
            whole.certain,
        )
        assert np.array_equal(quick.weight.steps, whole.weight.steps)

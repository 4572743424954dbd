"""Weights in blocks against what a quantizer made them from, by its definition."""

import ml_dtypes
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isomorph.match.blocked_differences import compare_blocked
from isomorph.match.blocked_weights import BlockedWeight
from isomorph.match.element_bounds import Source
from isomorph.match.stored_weights import StoredWeight

BLOCKS, BLOCK = 4, 8
SCALES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
WEIGHTS = arrays(np.float64, (BLOCKS, BLOCK), elements=st.floats(-4.0, 4.0, width=16))


def quantizer(weight, bits, kind):
    """The step and the zero point of each block."""
    levels = 2**bits - 1
    if kind == "asymmetric":
        low = np.minimum(weight.min(axis=1, keepdims=True), 0.0)
        high = np.maximum(weight.max(axis=1, keepdims=True), 0.0)
        steps = (high - low) / levels
        return steps, np.rint(-low / np.where(steps > 0, steps, 1.0))
    middle = 2 ** (bits - 1)
    place = np.abs(weight).argmax(axis=1)[:, None]
    largest = np.take_along_axis(weight, place, 1)
    # The number of largest size has the smallest integer, so that its step may be negative.
    steps = -largest / middle if kind == "signed" else np.abs(largest) / (middle - 1)
    return steps, np.full(steps.shape, float(middle))


def in_blocks(weight, bits, kind, dtype, *, rounded_first):
    steps, zeros = quantizer(weight, bits, kind)
    assume(np.all(np.abs(steps) > 2.0**-10))
    narrow = steps.astype(SCALES[dtype]).astype(np.float64)
    used = narrow if rounded_first else steps
    integers = np.clip(np.rint(weight / used) + zeros, 0, 2**bits - 1)
    return blocked(integers, zeros, narrow, bits, dtype)


def blocked(integers, zeros, steps, bits, dtype):
    weight = StoredWeight(
        name="w", dtype="uint8", shape=integers.shape, digest="", value_digest="", readers=()
    )
    return BlockedWeight(
        weight=weight, integers=integers.astype(np.int64), ends=(0, 2**bits - 1),
        zeros=np.broadcast_to(zeros, integers.shape), steps=np.broadcast_to(steps, integers.shape),
        pack=lambda whole: whole, scale_dtype=dtype, block=integers.shape[1],
    )  # fmt: skip


def compared(made, weight, step=0.0):
    return compare_blocked(made, weight, made.real, Source(dtype="float32"), step)


@given(
    WEIGHTS,
    st.sampled_from([4, 8]),
    st.sampled_from(["asymmetric", "symmetric", "signed"]),
    st.sampled_from(sorted(SCALES)),
    st.booleans(),
)
def test_every_number_that_a_quantizer_stores_is_explained(weight, bits, kind, dtype, first):
    made = in_blocks(weight, bits, kind, dtype, rounded_first=first)
    seen = compared(made, weight)
    assert seen.equal
    # One rounding is enough: none lies between one and two.
    assert not seen.between.any()


@given(WEIGHTS, st.sampled_from([4, 8]), st.sampled_from(["asymmetric", "symmetric"]), st.data())
def test_a_number_that_is_three_steps_too_small_is_found_at_an_end_as_well(
    weight, bits, kind, data
):
    made = in_blocks(weight, bits, kind, "float32", rounded_first=True)
    at_high = np.argwhere(made.integers == made.ends[1])
    assume(at_high.size)
    row, column = data.draw(st.sampled_from([tuple(each) for each in at_high]))
    wrong = made.integers.copy()
    wrong[row, column] -= 3
    changed = blocked(wrong, made.zeros, made.steps, bits, "float32")
    assert compared(changed, weight).beyond[row, column]
    # The number that was stored at the end is cut off where it lies beyond it, and only there.
    outside = weight.copy()
    outside[row, column] += 5 * made.steps[row, column]
    assert compared(made, outside).equal
    outside[row, column] -= 8 * made.steps[row, column]
    assert compared(made, outside).beyond[row, column]


@given(WEIGHTS, st.sampled_from(["float16", "bfloat16"]), st.integers(0, BLOCK - 1))
def test_a_grid_that_was_kept_moves_by_the_rounding_of_its_scale_alone(weight, dtype, column):
    source = in_blocks(weight, 4, "asymmetric", "float32", rounded_first=True)
    steps = source.steps.copy()
    steps[0] = steps[0].astype(SCALES[dtype])  # most numbers are the source's own
    kept = blocked(source.integers, source.zeros, steps, 4, dtype)
    assert compared(kept, source.real, source.sizes).equal
    # Half a step is no rounding of a scale; only a number beyond the end is cut off there.
    moved = source.real.copy()
    moved[1, column] += 0.5 * steps[1, column]
    at_high = source.integers[1, column] == kept.ends[1]
    assert compared(kept, moved, source.sizes).beyond[1, column] == (not at_high)


@given(WEIGHTS, st.sampled_from(["asymmetric", "symmetric", "signed"]), st.integers(0, BLOCK - 1))
def test_blocks_of_another_size_move_a_number_by_both_roundings(weight, kind, column):
    source = in_blocks(weight, 4, kind, "float32", rounded_first=True)
    joined = source.real.reshape(BLOCKS // 2, 2 * BLOCK)
    for numbers in (joined, weight.reshape(joined.shape)):  # of the grid, or what it was made from
        made = in_blocks(numbers, 4, kind, "float32", rounded_first=True)
        steps = source.sizes.reshape(joined.shape)
        assert compared(made, joined, steps).equal
        wrong = made.integers.copy()
        wrong[0, column] += 6 if wrong[0, column] < 8 else -6
        changed = blocked(wrong, made.zeros, made.steps, 4, "float32")
        inside = 0 < wrong[0, column] < 15
        assume(inside and steps[0, column] < 2 * made.sizes[0, column])
        assert compared(changed, joined, steps).beyond[0, column]

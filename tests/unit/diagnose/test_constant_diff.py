import numpy as np
import pytest

from isomorph.diagnose.constant_diff import difference

RIGHT = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32).astype(np.float64)
KERNEL = np.random.default_rng(1).normal(size=(4, 3, 2, 5))


def corrupted():
    wrong = RIGHT.copy()
    wrong[2, 3] += 1
    return wrong


@pytest.mark.parametrize(
    ("wrong", "word", "cause"),
    [
        (RIGHT.T.copy(), "transposed", "layout"),
        (RIGHT[[1, 0, 2, 3, 4, 5]], "channels 0 and 1 along axis 0 are swapped", "weight"),
        (RIGHT[:, ::-1].copy(), "6 of 6 channels along axis 1", "weight"),
        (RIGHT.reshape(-1)[::-1].reshape(6, 6), "another order", "weight"),
        (RIGHT.astype(np.float16).astype(np.float64), "rounded to float16", "weight"),
        (corrupted(), "1 of 36 values", "weight"),
        (RIGHT * 0, "all zeros", "weight"),
        (-RIGHT, "multiplied by -1", "weight"),
        (RIGHT * 1.5, "multiplied by 1.5", "weight"),
        ((RIGHT - 1).astype(np.float32), "each of its values is 1 too small", "weight"),
        (RIGHT + 0.25, "each of its values is 0.25 too large", "weight"),
        (np.random.default_rng(5).normal(size=(6, 6)), "the values are unrelated", "weight"),
    ],
)
def test_what_happened_to_a_weight_is_recognized(wrong, word, cause):
    change = difference(wrong, RIGHT)
    assert word in change.text
    assert change.cause == cause


def test_an_older_state_of_the_same_weights_differs_from_unrelated_ones():
    draw = np.random.default_rng(2)
    right = draw.normal(size=4000)
    text = difference(right + 0.2 * draw.normal(size=4000), right).text
    assert "as from another checkpoint" in text


def test_a_kernel_written_in_another_order_of_axes_is_a_matter_of_layout():
    wrong = np.transpose(KERNEL, (0, 2, 3, 1)).reshape(KERNEL.shape)
    change = difference(wrong, KERNEL)
    assert change.cause == "layout"
    assert "(0, 2, 3, 1)" in change.text


def test_bfloat16_is_known_from_float16():
    import ml_dtypes

    wrong = RIGHT.astype(ml_dtypes.bfloat16).astype(np.float64)
    assert "bfloat16" in difference(wrong, RIGHT).text


def test_digits_that_were_dropped_are_known_from_rounded_ones():
    bits = RIGHT.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    text = difference(bits.view(np.float32).astype(np.float64), RIGHT).text
    assert text == "its values were cut off to bfloat16, not rounded"


def test_few_values_suffice_to_recognize_an_older_state():
    moved = RIGHT + 0.01 * np.random.default_rng(3).normal(size=RIGHT.shape)
    text = difference(moved, RIGHT).text
    assert "as from another checkpoint" in text


def test_rounding_of_a_folded_weight_does_not_hide_a_permutation():
    moved = RIGHT[[0, 2, 1, 3, 4, 5]]
    change = difference(moved * (1 + 2.0**-24), RIGHT)
    assert "channels 1 and 2 along axis 0" in change.text
    assert change.reordered


def test_truth_values_are_compared_by_how_many_differ():
    right = np.tri(4, dtype=bool)
    wrong = right.copy()
    wrong[0, 2] = True
    assert "1 of 16" in difference(wrong, right).text
    assert difference(right.T, right).cause == "layout"

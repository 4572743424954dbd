import numpy as np
import pytest

from isomorph.localize.error_location import describe_error

RNG = np.random.default_rng(5)
RIGHT = RNG.normal(size=(2, 4, 8, 8))


def described(change, right=RIGHT):
    wrong = right.copy()
    return describe_error(change(wrong), right, 1e-9)["words"]


def at(index, step=1.0):
    def change(array):
        # Of no form: neither one factor nor one amount.
        array[index] += step * RNG.uniform(1, 2, size=array[index].shape)
        return array

    return change


def border(array):
    mask = np.ones(array.shape, bool)
    mask[:, :, 1:-1, 1:-1] = False
    return np.where(mask, array + RNG.uniform(1, 2, size=array.shape), array)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (at(...), "all elements"),
        (at((0, 1, 2, 3)), "1 of 512 elements at (0, 1, 2, 3)"),
        (at(np.s_[:, 2]), "128 of 512 elements, only at index 2 of axis 1"),
        (at(np.s_[:, :, 1::2]), "256 of 512 elements, only at the odd indices 1, 3, … of axis 2"),
        (at(np.s_[:, :, ::3]), "192 of 512 elements, only at the indices 0, 3, … of axis 2"),
        (at(np.s_[..., :2]), "128 of 512 elements, only at the first 2 indices of axis 3"),
        (at(np.s_[..., 3:5]), "128 of 512 elements, only at indices 3 to 4 of axis 3"),
        (at(np.s_[..., [0, 7]]), "128 of 512 elements, only at both ends of axis 3"),
        (at(np.s_[..., [0, 2, 3, 7]]), "256 of 512 elements, at 4 of 8 indices of axis 3"),
        (border, "224 of 512 elements, within 1 of the border of axes 2 and 3"),
        (lambda a: -a, "all elements, with its sign turned"),
        (lambda a: a * 1.5, "all elements, by the factor 1.5"),
        (lambda a: a + 0.25, "all elements, by the same amount, 0.25"),
        (lambda a: a + np.arange(1, 5.0).reshape(4, 1, 1),
         "all elements, by one amount for each index of axis 1"),
        (lambda a: a + (a < 0) * a**2,
         f"{int((RIGHT < 0).sum())} of 512 elements, only where it should be negative"),
    ],
)  # fmt: skip
def test_the_place_and_the_form_are_described(change, words):
    assert described(change) == words


def test_what_is_misplaced_is_infinitely_wrong():
    wrong = RIGHT.copy()
    wrong[1, 1, 1, 1] = np.nan
    found = describe_error(wrong, RIGHT, 1e-9)
    assert (found["elements"], found["of"]) == (1, 512)
    assert found["worst_index"] == [1, 1, 1, 1]


def test_noise_is_not_counted_unless_there_is_nothing_else():
    wrong = RIGHT + 1e-12
    wrong[0, 0, 0, 0] += 1
    assert describe_error(wrong, RIGHT, 1e-9)["elements"] == 1
    assert describe_error(RIGHT + 1e-12, RIGHT, 1e-9)["elements"] > 1


def test_nothing_is_described_of_what_is_equal_or_of_another_shape():
    assert describe_error(RIGHT, RIGHT, 1e-9) == {}
    assert describe_error(RIGHT[0], RIGHT, 1e-9) == {}
    assert describe_error(np.zeros((0, 2)), np.zeros((0, 2)), 0.0) == {}

"""Which elements of an axis are kept: ONNX's bounds, parts of one size, and borders."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.kernels.kept_elements import kept_slice, part_sizes, same_border
from isomorph.kernels.windows import every_window

FAR = 2**40


def by_the_definition(begin, end, step, size):
    """Element by element: bounds are clamped once negative ones count from the end."""
    low, high = (0, size) if step > 0 else (0, size - 1), (0, size) if step > 0 else (-1, size - 1)
    first, last = (place + size if place < 0 else place for place in (begin, end))
    at, stop = min(max(first, low[0]), low[1]), min(max(last, high[0]), high[1])
    found = []
    while (at < stop if step > 0 else at > stop) and 0 <= at < size:
        found.append(at)
        at += step
    return found


places = st.one_of(st.integers(-9, 9), st.sampled_from([-FAR, FAR]))


@given(places, places, st.sampled_from([-3, -2, -1, 1, 2, 3]), st.integers(0, 6))
def test_a_slice_is_that_of_the_definition(begin, end, step, size):
    kept = list(range(size))[kept_slice(begin, end, step, size)]
    assert kept == by_the_definition(begin, end, step, size)


def test_the_last_part_is_what_is_left():
    assert part_sizes(7, 3) == (3, 3, 1)
    assert part_sizes(6, 3) == (2, 2, 2)


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 1, 1), (2, 2, 1), (3, 2, 2)])
def test_a_same_border_gives_a_window_at_every_stride(size, kernel, stride, dilation):
    before, after = same_border([size], [kernel], [stride], [dilation])
    x = np.pad(np.arange(size), (before[0], after[0]))
    assert len(every_window(x, [kernel], [stride], [dilation])) == -(-size // stride)
    assert after[0] - before[0] in (0, 1)


def test_windows_of_the_last_axes():
    x = np.arange(24).reshape(2, 3, 4)
    found = every_window(x, (2, 2), (1, 2), (2, 1))
    assert found.shape == (2, 1, 2, 2, 2)
    assert found[1, 0, 1].tolist() == [[14, 15], [22, 23]]
    assert every_window(x, (5,), (1,), (1,)).size == 0

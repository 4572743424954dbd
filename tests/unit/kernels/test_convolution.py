"""Convolution in pieces: the cuts cover the output once, and do not change the sum."""

import math

import numpy as np
import pytest

from isomorph.kernels import convolution
from isomorph.kernels.windows import windows


@pytest.mark.parametrize("output", [(7,), (1, 9), (5, 6), (3, 1, 4), (2, 3, 5), (0, 4)])
@pytest.mark.parametrize("room", [0, 1, 4, 7, 1000])
def test_pieces_cover_the_output_once_and_keep_to_the_memory(output, room):
    seen = np.zeros(output, int)
    for piece in convolution._pieces(output, room):
        assert seen[piece].size <= max(room, 1)
        seen[piece] += 1
    assert np.all(seen == 1)


@pytest.mark.parametrize(
    ("spatial", "kernel", "attributes"),
    [
        ((1, 90), (1, 16), {"strides": [1, 2]}),
        ((6, 7), (3, 3), {"pads": [1, 1, 1, 1]}),
        ((4, 5, 6), (2, 3, 2), {"dilations": [1, 1, 2]}),
    ],
)
@pytest.mark.parametrize("block", [1, 1024])
def test_small_pieces_give_the_sum_of_one_large_one(
    monkeypatch, spatial, kernel, attributes, block
):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 3, *spatial)), rng.normal(size=(4, 3, *kernel))
    place = windows(attributes, spatial, kernel)
    whole = convolution.convolve(x, w, None, place, 1)
    monkeypatch.setattr(convolution, "_BLOCK_BYTES", block)
    pieces = convolution.convolve(x, w, None, place, 1)
    bound = 4 * math.prod(w.shape[1:]) * np.finfo(float).eps
    assert np.all(np.abs(pieces - whole) <= bound * np.abs(whole).max())


def test_one_long_row_is_not_unfolded_at_once(monkeypatch):
    copied = []
    monkeypatch.setattr(
        convolution.np, "copyto", lambda to, what: (copied.append(to.nbytes), to.fill(0.0))
    )
    x, w = np.ones((1, 1, 1, 60_000)), np.ones((1, 1, 1, 256))
    convolution.convolve(x, w, None, windows({}, x.shape[2:], w.shape[2:]), 1)
    assert len(copied) > 1
    assert max(copied) <= convolution._BLOCK_BYTES

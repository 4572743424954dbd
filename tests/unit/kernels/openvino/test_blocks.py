"""Operators that rearrange blocks, channels and windows give what OpenVINO gives."""

import numpy as np
import pytest

pytest.importorskip("openvino")
from openvino import opset16 as newer

from openvino_agreement import agrees, op

rng = np.random.default_rng(7)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def whole(*values):
    return op.constant(np.array(values, np.int64))


CASES = {
    "roll": (lambda x: op.roll(x, whole(1, -2), whole(0, 2)), [normal(2, 3, 4)]),
    "roll by one shift": (lambda x: op.roll(x, whole(2), whole(-1)), [normal(2, 3, 4)]),
    "shuffled channels": (lambda x: op.shuffle_channels(x, 1, 3), [normal(1, 6, 2, 2)]),
    "shuffled along the last axis": (lambda x: op.shuffle_channels(x, -1, 2), [normal(2, 3, 4)]),
    "batch to space": (
        lambda x: op.batch_to_space(x, whole(1, 1, 2, 3), whole(0, 0, 1, 0), whole(0, 0, 0, 2)),
        [normal(12, 2, 3, 4)],
    ),
    "space to batch": (
        lambda x: op.space_to_batch(x, whole(1, 1, 2, 3), whole(0, 0, 1, 0), whole(0, 0, 0, 2)),
        [normal(2, 2, 3, 4)],
    ),
    "a slice replaced": (
        lambda x, u: newer.slice_scatter(x, u, whole(1), whole(4), whole(2), whole(1)),
        [normal(2, 5, 3), normal(2, 2, 3)],
    ),
    "a slice replaced backwards": (
        lambda x, u: newer.slice_scatter(x, u, whole(4), whole(-9), whole(-2), whole(1)),
        [normal(2, 5, 3), normal(2, 3, 3)],
    ),
    "largest of windows": (
        lambda x: op.adaptive_max_pool(x, whole(2, 3), "i32"),
        [normal(1, 2, 5, 7)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_means_what_openvino_computes(case, tmp_path):
    make, inputs = CASES[case]
    agrees(make, inputs, tmp_path)

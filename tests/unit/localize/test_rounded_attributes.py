"""Numbers of nodes that a converter rounded: which differences that explains."""

import numpy as np
import pytest

from isomorph.localize.rounded_attributes import is_stored_rounded


def described(dtype, *values, shape=()):
    stored = tuple(float(each) for each in np.asarray(values, dtype))
    return {"dtype": dtype, "shape": shape, "values": stored}


@pytest.mark.parametrize("number", [0.1, 1e-5, 2.0, -1e9])
def test_a_number_that_a_node_holds_may_be_rounded_to_its_type(number):
    with np.errstate(over="ignore"):
        narrow = np.clip(np.float32(number), -65504, 65504)
    assert is_stored_rounded(described("float32", number), described("float16", narrow))


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (described("float32", 0.1), described("float16", 0.12)),
        (described("float32", 0.1), described("float16", 0.1, shape=(1,))),
        (described("float32", 0.1), described("float16", 0.1, 0.1)),
        ({"dtype": "float32", "shape": (), "digest": "a"}, described("float16", 0.1)),
    ],
)
def test_another_number_or_another_shape_is_no_rounding(wide, narrow):
    assert not is_stored_rounded(wide, narrow)


def test_large_tensors_are_compared_as_weights():
    wide = {"dtype": "float32", "shape": (64,), "digest": "a"}
    assert is_stored_rounded(wide, {**wide, "dtype": "float16", "digest": "b"})

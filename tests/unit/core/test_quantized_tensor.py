"""How far a quantizer stays behind the ideal one."""

import math

import pytest

from isomorph.core.quantized_tensor import QuantizedTensor


@pytest.mark.parametrize(
    ("own", "ideal", "lost"),
    [
        (30.0, 42.0, 12.0),
        (42.0, 30.0, 0.0),
        (math.inf, math.inf, 0.0),
        (30.0, math.inf, math.inf),
        (None, 42.0, 0.0),
        (30.0, None, 0.0),
    ],
)
def test_nothing_is_lost_where_it_is_as_good_or_was_not_measured(own, ideal, lost):
    tensor = QuantizedTensor(
        tensor="t", dtype="int8", kind="weight", channels=1, scale=(1.0, 1.0), zero_point=(0, 0),
        sqnr_db=own, ideal_sqnr_db=ideal,
    )  # fmt: skip
    assert tensor.lost_db == lost

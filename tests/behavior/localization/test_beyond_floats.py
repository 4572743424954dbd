"""Ratios that no float holds end no check."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.chance import freedom
from isomorph.core.divergence import Verdict
from onnx_pairs import check, model, node

ROW = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@pytest.mark.parametrize("number", [0.0025, 1e-30, 3e38, np.inf, np.nan])
def test_a_fault_where_no_noise_moves_anything_is_located(tmp_path, number):
    def vanished(k):
        nodes = [node("Sub", "x x", "z"), node("Add", "z k", "y")]
        return model(nodes, {"x": [2, 3]}, {"y": [2, 3]}, {"k": np.float32(k)})

    report = check(tmp_path, vanished(0), vanished(number), inputs={"x": ROW})
    assert report.verdict is Verdict.DIVERGENT
    assert report.findings[0].node == "Add_y"


@given(st.lists(st.floats(min_value=0, allow_infinity=True), min_size=1, max_size=8))
def test_degrees_of_freedom_are_a_number_whatever_the_squares(squares):
    found = freedom(squares)
    assert found >= 1
    assert not math.isnan(found)


@given(
    st.lists(st.floats(min_value=0.1, max_value=10), min_size=2, max_size=8),
    st.sampled_from([1e-200, 1e-3, 1e200]),
)
def test_degrees_of_freedom_do_not_depend_on_the_unit(squares, unit):
    assert freedom([each * unit for each in squares]) == pytest.approx(freedom(squares), rel=1e-6)

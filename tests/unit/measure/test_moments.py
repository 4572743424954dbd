"""The loss of an element by its neighbors: those that lost nothing say nothing about it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnx import TensorProto

import isomorph
from isomorph.measure.moments import pooled, pooled_loss
from isomorph.oracle.noise import unit_roundoff
from weight_pairs import F32, floats, model, node, normal

SIZES = arrays(np.float64, (3, 5), elements=st.floats(1e-3, 1e3))
SHARES = arrays(np.float64, (3, 5), elements=st.floats(2.0**-12, 2.0**-6))
LARGE = arrays(np.float64, (3, 4), elements=st.floats(1e5, 1e30))


@given(SIZES, SHARES, LARGE, st.floats(0.1, 2.0))
def test_a_large_neighbor_that_is_only_rounded_raises_no_loss(sizes, shares, large, roundings):
    """It counts as one that loses nothing, as a neighbor behind a shut ReLU does."""
    variance = np.square(shares * sizes)
    rounded = np.square(roundings * unit_roundoff("float32") * large)
    still = np.hstack([variance, np.zeros(large.shape)])
    alone = pooled_loss(still, np.hstack([sizes, large]))[:, :5]
    together = pooled_loss(np.hstack([variance, rounded]), np.hstack([sizes, large]))
    np.testing.assert_allclose(together[:, :5], alone, rtol=1e-12)


@given(SIZES, SHARES)
def test_neighbors_that_lose_share_their_loss(sizes, shares):
    variance = np.square(shares * sizes)
    np.testing.assert_allclose(pooled_loss(variance, sizes), pooled(variance))
    variance[:, 0] = 0.0  # behind a ReLU that is shut
    np.testing.assert_allclose(pooled_loss(variance, sizes), pooled(variance))


def beside_large(factor, narrow):
    """A layer whose weight may be in float16, joined with its input times 1e8."""
    weight = normal(6, 4, seed=5)
    first = [node("Cast", "h", "w", to=TensorProto.FLOAT)] if narrow else []
    scaled = [node("Mul", "m k", "a")] if factor != 1.0 else [node("Identity", "m", "a")]
    nodes = [*first, node("MatMul", "x w", "m"), *scaled, node("Mul", "x l", "b"),
             node("Concat", "a b", "y", axis=1)]  # fmt: skip
    held = {"h" if narrow else "w": weight.astype(np.float16) if narrow else weight}
    held["l"] = F32(1e8)
    if factor != 1.0:
        held["k"] = F32(factor)
    return model(nodes, {"x": floats(3, 6)}, {"y": floats(3, 10)}, held)


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "degraded"), (1.05, "divergent")])
def test_a_fault_beside_large_numbers_is_no_loss(factor, verdict):
    options = isomorph.CheckOptions(locate=False)
    sides = beside_large(1.0, narrow=False), beside_large(factor, narrow=True)
    inputs = {"x": normal(3, 6, seed=2)}
    report = isomorph.check(*sides, inputs=inputs, in_process=True, options=options)
    assert report.verdict == verdict

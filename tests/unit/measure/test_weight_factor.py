"""A factor that was multiplied into a whole weight before it was quantized."""

import numpy as np
import pytest

from isomorph.core.model import Graph, Node, Quantization, TensorSpec
from isomorph.measure.quantization_grid import Grid
from isomorph.measure.weight_factor import foldable_factors, weight_factor

FACTORS = (0.5, 1.0, 2.0)
WEIGHT = np.random.default_rng(0).standard_normal((16, 8))


def on_grid(value, step=None):
    step = np.abs(value).max() / 127 if step is None else step
    grid = Grid(Quantization(tensor="w", dtype="int8", scale=(step,), zero_point=(0,)))
    return grid.round_trip(value), grid


@pytest.mark.parametrize("factor", [0.125, 3.0])
def test_a_factor_is_found_from_the_rounded_weight(factor):
    stored, grid = on_grid(WEIGHT * factor)
    found = weight_factor(WEIGHT, stored, grid, (0.1, 0.125, 2.9, 3.0, 3.1))
    assert found == factor
    assert grid.figures(WEIGHT * found, stored).clipped == 0.0
    assert grid.figures(WEIGHT, stored).clipped + abs(1 - factor) > 0.8


def test_rounding_alone_is_no_factor():
    stored, grid = on_grid(WEIGHT)
    assert weight_factor(WEIGHT, stored, grid, FACTORS) is None


def test_clipping_is_no_factor():
    stored, grid = on_grid(WEIGHT, step=np.abs(WEIGHT).max() / 254)
    assert weight_factor(WEIGHT, stored, grid, FACTORS) is None
    assert grid.figures(WEIGHT, stored).clipped > 0.0


def test_a_weight_with_one_other_element_has_no_factor():
    stored, grid = on_grid(WEIGHT * 0.5)
    stored[3, 3] = -stored[3, 3]
    assert weight_factor(WEIGHT, stored, grid, FACTORS) is None
    assert weight_factor(WEIGHT.T, stored, grid, FACTORS) is None
    assert weight_factor(np.zeros_like(WEIGHT), stored, grid, FACTORS) is None


def test_a_factor_that_the_reference_does_not_state_may_be_a_wrong_scale():
    stored, grid = on_grid(WEIGHT * 1.25)
    assert weight_factor(WEIGHT, stored, grid, FACTORS) is None


def test_the_factors_are_the_numbers_of_the_graph_and_the_scale_that_attention_implies():
    query = TensorSpec(name="q", dtype="float32", shape=(1, 4, 10, 16))
    node = Node(name="a", op="Attention", native_op="", inputs=("q", "k", "v"), outputs=("y",))
    scaled = Node(name="s", op="Mul", native_op="", inputs=("y",), outputs=("z",),
                  attributes={"other": 3.0})  # fmt: skip
    graph = Graph(name="g", inputs=(query,), outputs=(), nodes=(node, scaled), tensors={},
                  constants={})  # fmt: skip
    factors = foldable_factors(graph)
    assert {0.25, 0.5, 4.0, 3.0, 1 / 3.0} <= set(factors)
    assert 1.0 not in factors

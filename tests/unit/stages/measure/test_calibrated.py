"""Inputs that fill a part of their grid only tell how wide the samples of the calibration were."""

import numpy as np
import pytest

from isomorph.core.model import Graph, Node, Quantization, TensorSpec
from isomorph.kernels.noise import Rounding
from isomorph.kernels.quantised import requantise
from isomorph.kernels.table import Call
from isomorph.stages.measure.calibrated import coarser, unlike

GRID = {"dtype": "int8", "scale": (0.1,), "zero_point": (0,)}  # −12.8 … 12.7


def graph(*inputs, quantised=("x",)):
    nodes = [
        Node(name=f"q_{name}", op="QuantizeLinear", native_op="QuantizeLinear",
             inputs=(name, "s", "z"), outputs=(f"{name}_q",))
        for name in quantised
    ]  # fmt: skip
    return Graph(
        name="g",
        inputs=tuple(TensorSpec(name=name, dtype="float32", shape=(4,)) for name in inputs),
        outputs=(),
        nodes=tuple(nodes),
        tensors={},
        constants={},
        quantization=tuple(Quantization(tensor=f"{name}_q", **GRID) for name in quantised),
    )


@pytest.mark.parametrize(
    ("values", "times"),
    [([-12.8, 12.7], 1.0), ([-3.2, 3.175], 4.0), ([0.0, 12.75], 2.0), ([-90.0, 90.0], 1.0),
     ([0.0, 0.0], 1.0), ([np.nan, 12.75], 2.0), ([], 1.0)],
)  # fmt: skip
def test_how_much_wider_the_grid_of_an_input_is_than_its_values(values, times):
    assert coarser(graph("x"), {"x": np.float32(values)}) == pytest.approx(times, rel=1e-4)


def test_of_several_inputs_the_best_filled_one_counts():
    feeds = {"x": np.float32([-1.0, 1.0]), "y": np.float32([-6.0, 6.0]), "n": np.int64([1])}
    both = coarser(graph("x", "y", "n", quantised=("x", "y")), feeds)
    assert both == pytest.approx(25.5 / 12)
    assert coarser(graph("x", "y", quantised=()), feeds) == 1.0


@pytest.mark.parametrize(("beyond", "told"), [(0, False), (8, False), (40, True)])
def test_inputs_are_unlike_the_samples_where_chance_does_not_cut_off_as_many(beyond, told):
    values = np.linspace(-12.0, 12.0, 200, dtype=np.float32)
    values[:beyond] = 30.0
    assert unlike(graph("x"), {"x": values}) == told
    assert not unlike(graph("x", quantised=()), {"x": values})


@pytest.mark.parametrize(("width", "step"), [(0.02, 0.02), (0.05, 0.05), (0.5, 0.08)])
def test_a_step_may_be_coarser_by_as_much_if_it_is(width, step):
    values = np.linspace(-2.55, 2.55, 20001)  # ideally in steps of 0.02
    noise = Rounding(3, quantisers=True, coarser=4.0)
    noise.enter("site", 0.0)
    call = Call(op="QuantizeLinear", noise=noise)
    moved = requantise(values, np.float64(width), None, "int8", None, call) * width
    assert np.abs(moved - values).max() == pytest.approx(step / 2, rel=1e-2)

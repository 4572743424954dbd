from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.model import Graph, Node, Quantization, TensorSpec
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.sessions.dequantized_session import (
    DequantizedSession,
    RealPrecision,
    calibrated,
    clipped,
    grids,
    integers,
    reach,
    real_values,
)


def entry(tensor="x", dtype="int8", scale=(0.5,), zero=(-2,), axis=None):
    return Quantization(tensor=tensor, dtype=dtype, scale=scale, zero_point=zero, axis=axis)


def spec(name, dtype="int8", shape=(2, 3)):
    return TensorSpec(name=name, dtype=dtype, shape=shape)


def graph(*entries, inputs=(), outputs=(), nodes=()):
    return Graph(
        name="g", inputs=inputs, outputs=outputs, nodes=nodes, tensors={}, constants={},
        quantization=entries,
    )  # fmt: skip


class Stored:
    """Gives back what it was fed, and remembers it."""

    environment = Environment(runtime="r")

    def __init__(self, *, noise=False):
        self.capabilities = Capabilities(noise=noise)
        self.fed = {}

    def run(self, feeds, fetch, *, noise=None):
        self.fed = dict(feeds)
        return {name: feeds[name] for name in fetch}


def test_numbers_go_onto_the_grid_and_back():
    real = np.array([0.0, 0.5, 0.74, -1.0, 1e9, -1e9])
    stored = integers(real, entry())
    assert stored.dtype == np.int8
    assert stored.tolist() == [-2, -1, -1, -4, 127, -128]
    assert real_values(stored, entry()).tolist() == [0.0, 0.5, 0.5, -1.0, 64.5, -63.0]
    assert reach(entry()) == (-63.0, 64.5)


def test_every_channel_has_its_own_step():
    sliced = entry(scale=(0.5, 2.0), zero=(0, 1), axis=1)
    stored = integers(np.array([[1.0, 4.0]]), sliced)
    assert stored.tolist() == [[2, 3]]
    assert real_values(stored, sliced).tolist() == [[1.0, 4.0]]


def test_what_the_grid_cannot_hold_is_counted():
    assert clipped(np.array([0.0, 64.5, 64.9, 70.0]), entry()) == 0.25
    assert clipped(np.array([]), entry()) == 0.0


def test_only_integers_of_the_interface_have_a_grid():
    inputs, outputs = (spec("x"), spec("ids", "int64"), spec("f", "float32")), (spec("y", "uint8"),)
    known = graph(
        entry("x"), entry("inside"), entry("f"), entry("y", "int8"), inputs=inputs, outputs=outputs
    )
    assert set(grids(known)) == {"x"}


def test_the_writers_entry_goes_before_the_readers():
    both = graph(entry(scale=(0.5,)), entry(scale=(0.25,)), inputs=(spec("x"),))
    assert grids(both)["x"].scale == (0.5,)


def test_scales_that_fit_no_axis_are_no_grid():
    odd = graph(entry(scale=(0.5, 1.0), zero=(0, 0), axis=1), inputs=(spec("x"),))
    assert grids(odd) == {}


def test_a_float_input_is_calibrated_by_the_quantizer_that_reads_it():
    node = Node(
        name="q", op="QuantizeLinear", native_op="QUANTIZE", inputs=("f",), outputs=("inside",)
    )
    inputs = (spec("f", "float32"), spec("x"))
    known = graph(entry("inside", scale=(0.25,)), entry("x"), inputs=inputs, nodes=(node,))
    assert calibrated(known) == {"f": (-31.5, 32.25), "x": (-63.0, 64.5)}
    assert calibrated(replace(known, nodes=())) == {"x": (-63.0, 64.5)}


def test_a_session_is_given_integers_and_gives_real_numbers():
    stored = Stored()
    session = DequantizedSession(stored, {"x": entry()}, RealPrecision.FLOAT32)
    other = np.array([7], np.int8)
    found = session.run({"x": np.array([0.6, -1.0], np.float32), "z": other}, ["x", "z"])
    assert stored.fed["x"].tolist() == [-1, -4]
    assert stored.fed["x"].dtype == np.int8
    assert found["x"].tolist() == [0.5, -1.0]
    assert found["x"].dtype == np.float32
    assert found["z"] is other


def test_integers_that_are_fed_are_used_as_they_are():
    stored = Stored()
    whole = np.array([3, 4], np.int8)
    DequantizedSession(stored, {"x": entry()}, RealPrecision.FLOAT32).run({"x": whole}, [])
    assert stored.fed["x"] is whole


@pytest.mark.parametrize(("quantizers", "kind"), [(True, "f"), (False, "i")])
def test_only_where_quantizers_are_disturbed_an_oracle_gets_the_reals(quantizers, kind):
    stored = Stored(noise=True)
    session = DequantizedSession(stored, {"x": entry()}, RealPrecision.FLOAT32)
    noise = Noise(seed=1, rounding=True, quantizers=quantizers)
    session.run({"x": np.array([0.6])}, [], noise=noise)
    assert stored.fed["x"].dtype.kind == kind


def test_equal_integers_are_equal_numbers_in_a_run_and_in_an_oracle():
    awkward = entry(scale=(0.036180686205625534,), zero=(-4,))
    stored = np.arange(-128, 128, dtype=np.int8)
    run, oracle = (
        DequantizedSession(Stored(noise=noise), {"x": awkward}, RealPrecision.FLOAT32).run(
            {"x": stored}, ["x"]
        )["x"]
        for noise in (False, True)
    )
    assert (run.dtype, oracle.dtype) == (np.float32, np.float64)
    assert np.array_equal(run, oracle)


INSIDE = {"precision": RealPrecision.EXACT}


def test_tensors_inside_are_exact_and_come_back_to_the_same_integers():
    awkward = entry(scale=(0.036180686205625534,), zero=(-4,))
    whole, stored = np.arange(-128, 128, dtype=np.int8), Stored()
    session = DequantizedSession(stored, {"x": awkward}, **INSIDE)
    real = session.run({"x": whole}, ["x"])["x"]
    assert real.dtype == np.float64
    assert np.array_equal(real, (whole.astype(float) + 4) * awkward.scale[0])
    session.run({"x": real}, [])
    assert np.array_equal(stored.fed["x"], whole)


@given(
    st.sampled_from(["int8", "uint8", "int16", "int32"]),
    st.floats(2.0**-30, 2.0**10),
    st.integers(-100, 100),
    st.data(),
)
def test_what_a_session_returned_can_be_fed_to_it_again(dtype, scale, zero, data):
    limits = np.iinfo(dtype)
    values = st.integers(int(limits.min), int(limits.max))
    whole = np.array(data.draw(st.lists(values, min_size=1, max_size=8)), dtype)
    grid, stored = {"x": entry(dtype=dtype, scale=(scale,), zero=(zero,))}, Stored()
    session = DequantizedSession(stored, grid, **INSIDE)
    session.run(session.run({"x": whole}, ["x"]), [])
    assert stored.fed["x"].dtype == whole.dtype
    assert np.array_equal(stored.fed["x"], whole)


@pytest.mark.parametrize("precision", list(RealPrecision))
def test_scales_that_do_not_fit_are_not_applied(precision):
    odd, stored = entry(scale=(0.5, 1.0), zero=(0, 0), axis=1), Stored()
    session = DequantizedSession(stored, {"x": odd, "none": entry("none")}, precision)
    whole, real = np.ones((2, 3), np.int8), np.ones((2, 3))
    assert session.run({"x": whole, "none": None}, ["x", "none"]) == {"x": whole, "none": None}
    session.run({"x": real}, [])
    assert stored.fed["x"] is real


def test_integers_of_four_bits_stand_for_reals_as_well():
    held = np.array([-8, 7, 0], ml_dtypes.int4)
    session = DequantizedSession(Stored(), {"x": entry(dtype="int4")}, **INSIDE)
    assert session.run({"x": held}, ["x"])["x"].tolist() == [-3.0, 4.5, 1.0]


def test_a_negative_axis_counts_from_the_end():
    sliced = entry(scale=(0.5, 2.0), zero=(0, 1), axis=-1)
    assert real_values(np.array([[2, 3]], np.int8), sliced).tolist() == [[1.0, 4.0]]

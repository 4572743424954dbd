"""Constants are read from the model's file where they lie in it, and never unchecked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isomorph.core.digest import constant_of
from isomorph.core.model import Graph
from isomorph.match.arranged_weights import agreeing_arrangements, only_moved
from isomorph.match.constant_values import ConstantValues
from isomorph.match.element_bounds import Source
from isomorph.match.folded_weights import ScaledKernel
from isomorph.match.stored_weights import StoredWeight, Weights
from isomorph.store.file_stamp import stamp_of

RANDOM = np.random.default_rng(7)
LARGE = RANDOM.standard_normal((129, 128)).astype(np.float32)
SMALL = {f"s{i}": RANDOM.standard_normal(8).astype(np.float32) for i in range(5)}


class CountingSession:
    """Returns constants in float64, as an oracle does, and counts what it is asked."""

    def __init__(self, values):
        self.values, self.asked = values, []

    def run(self, feeds, fetch, *, noise=None):
        self.asked.append(tuple(fetch))
        return {name: np.asarray(self.values[name], np.float64) for name in fetch}


def graph_of(values, offsets=None):
    constants = {
        name: replace(constant_of(name, value), file_offset=(offsets or {}).get(name))
        for name, value in values.items()
    }
    return Graph(name="g", inputs=(), outputs=(), nodes=(), tensors={}, constants=constants)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"head" + LARGE.tobytes())
    return path


def test_a_constant_in_the_file_is_read_without_the_session(file):
    session = CountingSession({})
    values = ConstantValues(graph_of({"w": LARGE}, {"w": 4}), session, file)
    assert values.stored_value("w").dtype == np.float32
    assert values.value("w").dtype == np.float64
    assert np.array_equal(values.value("w"), LARGE)
    assert not session.asked


def test_a_file_with_the_stamp_that_it_was_described_with_is_not_hashed(file):
    stamp, other = stamp_of(file), {"w": LARGE + 1.0}
    values = ConstantValues(graph_of(other, {"w": 4}), CountingSession(other), file, stamp)
    assert np.array_equal(values.stored_value("w"), LARGE)
    file.write_bytes(file.read_bytes() + b"tail")
    values = ConstantValues(graph_of(other, {"w": 4}), CountingSession(other), file, stamp)
    assert np.array_equal(values.stored_value("w"), LARGE + 1.0), "fetched from the session"


@pytest.mark.parametrize("change", ["other bytes", "shorter", "gone"])
def test_what_the_file_no_longer_holds_is_fetched_from_the_session(file, change):
    if change == "other bytes":
        file.write_bytes(b"head" + (LARGE + 1.0).astype(np.float32).tobytes())
    elif change == "shorter":
        file.write_bytes(b"head" + LARGE.tobytes()[:-4])
    else:
        file.unlink()
    session = CountingSession({"w": LARGE})
    values = ConstantValues(graph_of({"w": LARGE}, {"w": 4}), session, file)
    assert np.array_equal(values.value("w"), LARGE)
    assert session.asked == [("w",)]


def test_small_constants_are_fetched_together():
    session = CountingSession({**SMALL, "w": LARGE})
    values = ConstantValues(graph_of({**SMALL, "w": LARGE}), session)
    assert all(np.array_equal(values.value(name), value) for name, value in SMALL.items())
    assert np.array_equal(values.value("w"), LARGE)
    assert session.asked == [tuple(SMALL), ("w",)]


def test_a_small_constant_that_cannot_be_fetched_does_not_hide_the_others():
    session = CountingSession({name: SMALL[name] for name in ("s0", "s1")})
    values = ConstantValues(graph_of({name: SMALL[name] for name in ("s0", "s1", "s2")}), session)
    assert np.array_equal(values.value("s1"), SMALL["s1"])
    assert values.value("s2") is None


@pytest.mark.parametrize("shape", [(16, 3, 3, 8), (3, 3, 8, 16), (16, 72)])
def test_a_scaled_kernel_agrees_where_the_product_does(shape):
    kernel = RANDOM.standard_normal((16, 8, 3, 3)).astype(np.float32)
    scale = RANDOM.uniform(0.5, 2.0, (16, 1, 1, 1))
    product = kernel.astype(np.float64) * scale
    orders = {(16, 3, 3, 8): (0, 2, 3, 1), (3, 3, 8, 16): (2, 3, 1, 0), (16, 72): (0, 1, 2, 3)}
    actual = product.transpose(orders[shape]).reshape(shape)
    actual = actual.astype(np.float32).astype(np.float64)
    weight = StoredWeight(
        name="w", dtype="float32", shape=shape, digest="", value_digest="", readers=()
    )
    scaled = ScaledKernel(kernel=kernel, scale=scale, relative_bound=1e-7)
    lazy = list(agreeing_arrangements(scaled, actual, weight, Source(dtype="float32")))
    terms = Source(dtype="float32", error_bound=1e-7 * np.abs(product))
    whole = list(agreeing_arrangements(product, actual, weight, terms))
    assert lazy
    assert len(lazy) == len(whole)
    for (left, left_terms), (right, right_terms) in zip(lazy, whole, strict=True):
        assert np.array_equal(left, right)
        relative = left_terms.relative_bound * np.abs(left)
        assert np.array_equal(left_terms.error_bound + relative, right_terms.error_bound)


@pytest.mark.parametrize("change", ["none", "one number", "two exchanged", "type"])
def test_a_weight_that_was_only_moved_has_every_number_in_its_place(change):
    moved = LARGE.T.copy()
    if change == "one number":
        moved[3, 5] = np.nextafter(moved[3, 5], np.float32(9.0))
    elif change == "two exchanged":
        moved[[3, 5]] = moved[[5, 3]]
    elif change == "type":
        moved = moved.astype(np.float64)
    sides = []
    for name, value in (("w", moved), ("source", LARGE)):
        known = constant_of(name, value)
        weight = StoredWeight(
            name=name, dtype=known.dtype, shape=known.shape, digest=known.digest,
            value_digest=known.value_digest, readers=(),
        )  # fmt: skip
        sides += [weight, Weights(graph_of({name: value}), CountingSession({name: value}))]
    assert only_moved(*sides) == (change == "none")

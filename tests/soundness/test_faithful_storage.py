"""Weights and tables that are stored otherwise, and are the same function, make no finding."""

import numpy as np
import pytest

import isomorph
from unreached import F32, model, node

RANDOM = np.random.default_rng(3)
I64 = np.dtype(np.int64)


def checked(reference, candidate, **inputs):
    report = isomorph.check(reference, candidate, inputs=inputs or None, in_process=True)
    return report.verdict


def packed(integers):
    """Two integers of four bits in a byte, the first in its lower half."""
    return (integers[..., 0::2] | (integers[..., 1::2] << 4)).astype(np.uint8)


def test_blocks_whose_scale_is_negative_are_a_plain_loss():
    """The number of largest size is the smallest integer, so its sign is the scale's."""
    rows, inner, block = 48, 96, 32
    weight = (RANDOM.normal(size=(rows, inner)) * 0.05).astype(np.float32)
    blocks = weight.reshape(rows, -1, block)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)
    scale = (largest / -8).astype(np.float32)
    assert (scale < 0).any()
    integers = np.clip(np.rint(blocks / scale) + 8, 0, 15).astype(np.uint8)
    sides = {"x": (F32, (2, inner))}, {"y": (F32, (2, rows))}
    plain = model([node("MatMul", "x w", "y")], *sides, {"w": np.ascontiguousarray(weight.T)})
    product = node(
        "MatMulNBits", "x w s", "y", domain="com.microsoft", N=rows, K=inner, bits=4,
        block_size=block,
    )  # fmt: skip
    constants = {"w": packed(integers), "s": scale.reshape(-1)}
    assert checked(plain, model([product], *sides, constants)) == "degraded"


def lookup(tables, names, cast=False, limit=None):
    """Two tables, of which the inputs select rows."""
    nodes, width = [], tables[0].shape[1]
    for place, name in enumerate(names):
        index = f"i{place}"
        if limit is not None:
            nodes.append(node("Clip", f"i{place} low high", f"c{place}"))
            index = f"c{place}"
        nodes.append(node("Gather", f"{name} {index}", f"r{place}"))
    nodes.append(node("Sub", "r0 r1", "d"))
    nodes.append(node("Cast", "d", "y", to=1) if cast else node("Identity", "d", "y"))
    bounds = {"low": np.int64(0), "high": np.int64(limit)} if limit is not None else {}
    return model(
        nodes,
        {"i0": (I64, (4,)), "i1": (I64, (4,))},
        {"y": (F32, (4, width))},
        dict(zip(names, tables, strict=True)) | {k: np.asarray(v) for k, v in bounds.items()},
    )


ANGLES = np.arange(64)[:, None] * 10000.0 ** (-np.arange(16) / 16)
SINES = np.concatenate([np.sin(ANGLES), np.cos(ANGLES)], 1).astype(np.float32)
INDEX = {"i0": np.arange(1, 5), "i1": np.arange(5, 9)}


@pytest.mark.parametrize(("names", "dtype"), [("ab", np.float32), ("vw", np.float32),
                                              ("vw", np.float16)])  # fmt: skip
def test_a_table_that_begins_as_a_longer_one_lacks_no_rows(names, dtype):
    tables = SINES, SINES[:32]
    candidate = lookup([t.astype(dtype) for t in tables], names, cast=dtype == np.float16)
    verdict = checked(lookup(tables, "ab"), candidate, **INDEX)
    assert verdict == ("equivalent" if dtype == np.float32 else "degraded")


@pytest.mark.parametrize(("limit", "verdict"), [(9, "equivalent"), (None, "divergent")])
def test_rows_that_nothing_can_select_are_not_missing(limit, verdict):
    small = {name: value % 9 for name, value in INDEX.items()}
    tables = RANDOM.normal(size=(2, 16, 8)).astype(np.float32)
    sides = lookup(tables, "ab", limit=limit), lookup(tables[:, :10], "ab", limit=limit)
    assert checked(*sides, **small) == verdict


def test_a_table_in_float16_that_is_cast_first_is_compared_with_its_rounding():
    """Numbers of bfloat16 fit float16, but for the smallest."""
    table = RANDOM.normal(size=(64, 32)).astype(np.float32)
    table.view(np.uint32)[...] &= 0xFFFF0000
    table[7, 3] = np.float32(2.98e-08)
    stored = table.astype(np.float16)
    assert np.count_nonzero(stored.astype(np.float32) != table) == 1
    sides = {"i": (I64, (4,))}, {"y": (F32, (4, 32))}
    plain = model([node("Gather", "t i", "y")], *sides, {"t": table})
    cast = model([node("Cast", "t", "w", to=1), node("Gather", "w i", "y")], *sides, {"t": stored})
    assert checked(plain, cast, i=np.arange(4)) in {"equivalent", "degraded"}

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isomorph.core.model import Quantization, TensorSpec
from isomorph.sessions.dequantized_session import quantized_feeds, real_feeds
from isomorph.sessions.fetched_feeds import (
    Source,
    arranged,
    as_declared,
    as_type,
    complete,
    converted,
    feeds_from,
    present,
    renamed,
)

FLOAT32 = np.dtype(np.float32)


def spec(dtype):
    return TensorSpec(name="x", dtype=dtype, shape=None)


def test_a_tensor_is_fed_under_the_name_of_its_source():
    values = {"a": np.arange(3.0), "b": np.arange(2.0), "c": np.arange(1.0)}
    found = feeds_from(values, {"x": Source(name="b"), "y": Source(name="b")})
    assert list(found) == ["x", "y"]
    assert found["x"] is values["b"]
    assert found["y"] is values["b"]


def test_a_source_without_a_value_is_an_error():
    with pytest.raises(KeyError):
        feeds_from({"a": np.zeros(1)}, {"x": Source(name="b")})


def test_only_what_has_a_new_name_is_fed():
    values = {"a": np.zeros(1), "b": np.ones(1)}
    assert renamed(values, {"b": "y"}) == {"y": values["b"]}


def test_the_axes_are_reordered_before_the_type_is_changed():
    value = np.arange(6.0).reshape(2, 3)
    seen = []

    def order(array):
        seen.append(array.dtype)
        return array.T

    source = Source(name="a", arrange=order, convert=as_type(FLOAT32))
    (found,) = feeds_from({"a": value}, {"x": source}).values()
    assert seen == [np.float64]
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert found.tolist() == value.T.tolist()


def test_all_values_stay_where_only_some_are_changed():
    values = {"a": np.arange(4.0).reshape(2, 2), "b": np.arange(2), "absent": None, "list": [1, 2]}
    narrow = converted(values, {"a": as_type(FLOAT32), "other": as_type(FLOAT32)})
    moved = arranged(values, {"a": np.transpose})
    assert list(narrow) == list(moved) == list(values)
    assert narrow["a"].dtype == np.float32
    assert moved["a"].tolist() == [[0.0, 2.0], [1.0, 3.0]]
    for found in (narrow, moved):
        assert found["b"] is values["b"]
        assert found["list"] is values["list"]
        assert found["absent"] is None


def test_an_absent_value_stays_absent():
    source = Source(name="a", arrange=np.transpose, convert=as_type(FLOAT32))
    assert feeds_from({"a": None}, {"x": source}) == {"x": None}
    assert list(present({"a": None, "b": [1.0]})) == ["b"]


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
        elements=st.floats(width=32),
    )
)
def test_shape_and_values_stay_whatever_the_rank(value):
    source = Source(name="a", arrange=np.asarray, convert=as_type(FLOAT32))
    (found,) = feeds_from({"a": value}, {"x": source}).values()
    assert found.shape == value.shape
    assert np.array_equal(found, value, equal_nan=True)


def test_all_named_values_or_none():
    values = {"a": np.zeros(1), "absent": None}
    assert complete(values, ["a"]) == {"a": values["a"]}
    assert complete(values, []) == {}
    assert complete(values, ["a", "missing"]) is None
    assert complete(values, ["a", "absent"]) is None


def test_a_value_of_the_right_type_is_not_copied():
    value = np.arange(6.0).reshape(2, 3).T
    assert as_type(np.dtype(np.float64))(value) is value
    assert as_declared(spec("float64"))(value) is value


def test_a_number_beyond_a_type_becomes_infinite():
    wide = np.array([1e300, -1e300, 1.5])
    assert as_type(FLOAT32)(wide).tolist() == [np.inf, -np.inf, 1.5]
    assert as_declared(spec("float16"))(wide).tolist() == [np.inf, -np.inf, 1.5]


@pytest.mark.parametrize(
    ("declared", "value", "dtype"),
    [
        ("float16", np.ones(2), np.float16),
        ("bfloat16", np.ones(2), ml_dtypes.bfloat16),
        ("float8_e4m3fn", np.ones(2), ml_dtypes.float8_e4m3fn),
        ("int4", np.ones(2, np.int8), ml_dtypes.int4),
        ("int32", np.ones(2, np.int64), np.int32),
        (None, np.ones(2), np.float32),
        (None, np.ones(2, np.float16), np.float16),
        (None, np.ones(2, np.int64), np.int64),
        ("string", np.array(["a"], object), object),
    ],
)
def test_the_declared_type_is_fed(declared, value, dtype):
    assert as_declared(spec(declared))(value).dtype == dtype


def test_a_tensor_without_a_description_is_fed_in_float32():
    assert as_declared(None)(np.ones(2)).dtype == np.float32


def test_real_numbers_go_onto_a_grid_and_integers_come_back():
    grids = {"q": Quantization(tensor="q", dtype="int8", scale=(0.5,), zero_point=(1,))}
    values = {"q": np.array([0.0, 1.0]), "r": np.array([0.3])}
    stored = quantized_feeds(values, grids)
    assert stored["q"].dtype == np.int8
    assert stored["q"].tolist() == [1, 3]
    assert stored["r"] is values["r"]
    assert quantized_feeds(stored, grids)["q"] is stored["q"]
    back = real_feeds(stored, grids)
    assert back["q"].dtype == np.float32
    assert back["q"].tolist() == [0.0, 1.0]
    assert real_feeds(values, grids)["q"] is values["q"]

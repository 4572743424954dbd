import json
import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.model import Constant, Graph, Model, Node, Quantization, Source, TensorSpec
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.store.codec import decode, encode
from line_counts import lines_run


def crossed(kind, value):
    return decode(kind, json.loads(json.dumps(encode(value), allow_nan=False)))


def model(nodes=1):
    x = TensorSpec(name="x", dtype="float32", shape=("batch", None, 3))
    body = Graph(name="then", inputs=(), outputs=(x,), nodes=(), tensors={"x": x}, constants={})
    chain = tuple(
        Node(
            name=f"n{i}",
            op="If",
            native_op="If",
            inputs=("x", ""),
            outputs=("y",),
            attributes={"axis": 1, "eps": 1e-5, "pads": (0, 1), "names": ["a"], "none": None},
            bodies={"then_branch": body},
            source=Source(module="layers.0", line=3),
        )
        for i in range(nodes)
    )
    constant = Constant(
        name="c",
        dtype="float32",
        shape=(2, 2),
        digest="d",
        value_digest="v",
        values=(1.0, math.inf, True, "nan"),
    )
    scale = Quantization(tensor="x", dtype="int8", scale=(0.1,), zero_point=(0,), axis=None)
    graph = Graph(
        name="g",
        inputs=(x,),
        outputs=(),
        nodes=chain,
        tensors={"x": x, "\ud800": x},
        constants={"c": constant},
        quantization=(scale,),
    )
    return Model(framework="onnx", location="m\udcff.onnx", digest="d", graph=graph, opset={"": 17})


def test_a_model_crosses_as_it_is():
    assert crossed(Model, model()) == model()


def test_four_times_the_nodes_are_at_most_four_times_the_work_to_cross():
    small, large = model(250), model(1_000)
    assert len(crossed(Model, large).graph.nodes) == 1_000
    before, after = (lines_run(lambda each=each: crossed(Model, each)) for each in (small, large))
    assert after <= 4 * before


def test_ten_thousand_nodes_cross():
    assert len(crossed(Model, model(10_000)).graph.nodes) == 10_000


@pytest.mark.parametrize(
    "value",
    [
        Environment(runtime="r", threads=None, settings={"a": "b"}, facts={"c": "d"}),
        Noise(seed=3, rounding=True, constants=("w", "b")),
        Capabilities(noise=True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_nouns_of_a_run_cross(value):
    assert crossed(type(value), value) == value
    assert crossed(type(value) | None, value) == value
    assert crossed(type(value) | None, None) is None


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
    ),
    max_leaves=12,
)


@given(plain)
def test_plain_data_needs_no_type(value):
    back = crossed(Any, value)
    assert back == value
    assert type(back) is type(value)


def test_nan_is_spelled_and_comes_back():
    assert math.isnan(crossed(float, math.nan))
    assert crossed(Any, "nan") == "nan"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.array(2.5, np.float16),
        np.zeros((0, 4), np.float32),
        np.array([1.5, -0.0, np.nan], ml_dtypes.bfloat16),
        np.array([1, -8], ml_dtypes.int4),
        np.array([1 + 2j]),
        np.arange(6.0).reshape(2, 3).T,
    ],
    ids=lambda array: str(array.dtype),
)
def test_an_array_keeps_type_shape_and_bits(array):
    back = crossed(Any, {"value": array})["value"]
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_a_numpy_scalar_stays_one():
    back = crossed(Any, np.float32(0.1))
    assert type(back) is np.float32
    assert back == np.float32(0.1)


def test_strings_keep_their_shape():
    back = crossed(Any, np.array([["a", "ü"], ["", "\ud800"]], dtype=object))
    assert back.tolist() == [["a", "ü"], ["", "\ud800"]]


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    color: Color
    path: Path
    pair: tuple[int, str]
    inner: "tuple[Thing, ...] | None" = None


def test_enums_paths_and_nested_dataclasses():
    leaf = Thing(color=Color.RED, path=Path("a/b"), pair=(1, "x"))
    value = Thing(color=Color.RED, path=Path("c"), pair=(2, "y"), inner=(leaf,))
    assert crossed(Thing, value) == value


def test_what_is_not_data_is_refused_by_its_type():
    with pytest.raises(TypeError, match=r"function is not plain data"):
        encode({"attribute": test_nan_is_spelled_and_comes_back})
    with pytest.raises(ValueError, match="a dataclass came"):
        crossed(Any, Noise(seed=1))

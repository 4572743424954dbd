"""Every operator that has a description, evaluated and compared with NumPy."""

import numpy as np
import pytest

from coreml_building import Block, ints, normal, one, specification
from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.coreml.evaluator import Evaluator
from isomorph.frameworks.coreml.lowering import lowered
from isomorph.frameworks.coreml.operators import TABLE
from isomorph.frameworks.coreml.package import open_model

X = normal(np.random.default_rng(0), 2, 3, 4)
POSITIVE = np.abs(X) + 0.5


def program(tmp_path, data):
    path = tmp_path / "m.mlmodel"
    path.write_bytes(data)
    return open_model(path).program


def evaluated(tmp_path, data, x=X):
    return np.asarray(Evaluator(program(tmp_path, data)).run({"x": x}, ["out"])["out"])


def erf(x):
    from math import erf

    return np.vectorize(erf)(x)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


ELEMENTWISE = {
    "abs": np.abs, "ceil": np.ceil, "floor": np.floor, "cos": np.cos, "sin": np.sin,
    "exp": np.exp, "erf": erf, "relu": lambda x: np.maximum(x, 0), "sigmoid": sigmoid,
    "tanh": np.tanh, "sign": np.sign, "round": np.rint, "square": np.square, "atan": np.arctan,
    "softplus": lambda x: np.log1p(np.exp(x)), "softsign": lambda x: x / (1 + np.abs(x)),
    "identity": lambda x: x, "silu": lambda x: x * sigmoid(x), "sinh": np.sinh, "cosh": np.cosh,
    "relu6": lambda x: np.clip(x, 0, 6), "tan": np.tan,
}  # fmt: skip


@pytest.mark.parametrize("kind", ELEMENTWISE)
def test_elementwise(tmp_path, kind):
    wide = X.astype(np.float64)
    assert np.allclose(evaluated(tmp_path, one(kind, X.shape, x="x")), ELEMENTWISE[kind](wide))


PARAMETERS = {
    "log": ({"epsilon": np.float32(0.25)}, lambda x: np.log(np.abs(x) + 0.5 + 0.25)),
    "rsqrt": ({"epsilon": np.float32(0.25)}, lambda x: 1 / np.sqrt(np.abs(x) + 0.75)),
    "inverse": ({"epsilon": np.float32(0.25)}, lambda x: 1 / (np.abs(x) + 0.75)),
}


@pytest.mark.parametrize("kind", PARAMETERS)
def test_functions_of_x_plus_epsilon(tmp_path, kind):
    stated, expected = PARAMETERS[kind]
    found = evaluated(tmp_path, one(kind, X.shape, x="x", **stated), POSITIVE)
    assert np.allclose(found, expected(X.astype(np.float64)))


def test_the_epsilon_of_an_inverse_has_a_default_that_matters(tmp_path):
    found = evaluated(tmp_path, one("inverse", (1,), x="x"), np.float32([1.0]))
    assert found[0] == pytest.approx(1 / 1.0001, rel=1e-12)


MORE = {
    "clip": ({"alpha": np.float32(-0.5), "beta": np.float32(0.5)}, lambda x: np.clip(x, -0.5, 0.5)),
    "threshold": ({"alpha": np.float32(0.25)}, lambda x: np.maximum(x, 0.25)),
    "leaky_relu": ({"alpha": np.float32(0.125)}, lambda x: np.where(x > 0, x, 0.125 * x)),
    "elu": ({"alpha": np.float32(0.5)}, lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    "thresholded_relu": ({"alpha": np.float32(0.5)}, lambda x: np.where(x >= 0.5, x, 0)),
    "sigmoid_hard": (
        {"alpha": np.float32(0.25), "beta": np.float32(0.5)},
        lambda x: np.clip(0.25 * x + 0.5, 0, 1),
    ),
    "linear_activation": (
        {"alpha": np.float32(0.25), "beta": np.float32(0.5)}, lambda x: 0.25 * x + 0.5,
    ),
    "scaled_tanh": (
        {"alpha": np.float32(0.25), "beta": np.float32(0.5)}, lambda x: 0.25 * np.tanh(0.5 * x),
    ),
    "gelu": ({"mode": "EXACT"}, lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "softmax": ({"axis": np.int32(1)}, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    "prelu": (
        {"alpha": np.float32([0.5, 0.25, 2.0])},
        lambda x: np.where(x > 0, x, x * np.array([0.5, 0.25, 2.0])[:, None]),
    ),
    "cumsum": (
        {"axis": np.int32(2), "exclusive": np.bool_(True), "reverse": np.bool_(True)},
        lambda x: np.cumsum(x[..., ::-1], 2)[..., ::-1] - x,
    ),
    "reverse": ({"axes": ints(1)}, lambda x: x[:, ::-1]),
    "band_part": ({"lower": np.int32(0), "upper": np.int32(1)}, lambda x: np.triu(np.tril(x, 1))),
    "transpose": ({"perm": ints(0, -1, 1)}, lambda x: x.transpose(0, 2, 1)),
    "expand_dims": ({"axes": ints(1)}, lambda x: x[:, None]),
    "reshape": ({"shape": ints(0, -1)}, lambda x: x.reshape(2, -1)),
    "tile": ({"reps": ints(1, 2, 1)}, lambda x: np.tile(x, (1, 2, 1))),
    "gather": ({"indices": ints(2, 0), "axis": np.int32(1)}, lambda x: x[:, [2, 0]]),
    "reduce_sum": ({"axes": ints(-1), "keep_dims": np.bool_(False)}, lambda x: x.sum(-1)),
    "reduce_max": (
        {"axes": ints(1), "keep_dims": np.bool_(True)}, lambda x: x.max(1, keepdims=True),
    ),
    "reduce_l2_norm": (
        {"axes": ints(1, 2), "keep_dims": np.bool_(False)}, lambda x: np.sqrt((x * x).sum((1, 2))),
    ),
    "pad": (
        {"pad": ints(1, 2), "mode": "constant", "constant_val": np.float32(3.0)},
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 2)), constant_values=3.0),
    ),
    "slice_by_index": (
        {"begin": ints(0, 1, -1), "end": ints(2, 3, 0), "stride": ints(1, 1, -2),
             "end_mask": np.array([True, False, True]),
             "begin_mask": np.array([True, False, False]),
             "squeeze_mask": np.array([False, False, False])},
        lambda x: x[:, 1:3, -1::-2],
    ),
    "exp2": ({}, np.exp2),
    "clamped_relu": (
        {"alpha": np.float32(0.25), "beta": np.float32(0.5)},
        lambda x: np.minimum(np.where(x > 0, x, 0.25 * x), 0.5),
    ),
    "softplus_parametric": (
        {"alpha": np.float32([0.5, 0.25, 2.0]), "beta": np.float32([1.0, 2.0, 0.5])},
        lambda x: np.array([0.5, 0.25, 2.0])[:, None]
        * np.log1p(np.exp(x * np.array([1.0, 2.0, 0.5])[:, None])),
    ),
    "slice_update": (
        {"update": np.ones((2, 1, 4), np.float32), "begin": ints(0, 1, 0), "end": ints(2, 2, 0),
             "end_mask": np.array([False, False, True])},
        lambda x: np.where(np.arange(3)[:, None] == 1, 1.0, x),
    ),
    "slice_by_size": ({"begin": ints(0, 1, 2), "size": ints(2, 1, -1)}, lambda x: x[:2, 1:2, 2:]),
}  # fmt: skip


@pytest.mark.parametrize("kind", MORE)
def test_with_parameters(tmp_path, kind):
    stated, expected = MORE[kind]
    found = evaluated(tmp_path, one(kind, X.shape, x="x", **stated))
    wanted = expected(X.astype(np.float64))
    assert found.shape == wanted.shape
    assert np.allclose(found, wanted)


def test_a_squeezed_axis_ignores_its_end(tmp_path):
    stated = {
        "begin": ints(0, -1, 0), "end": ints(0, 0, 0), "end_mask": np.array([True, False, True]),
        "squeeze_mask": np.array([False, True, False]),
    }  # fmt: skip
    found = evaluated(tmp_path, one("slice_by_index", X.shape, x="x", **stated))
    assert np.array_equal(found, X[:, -1].astype(np.float64))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("real_div", np.divide),
        ("maximum", np.maximum), ("minimum", np.minimum), ("floor_div", np.floor_divide),
        ("mod", np.mod),
    ],
)  # fmt: skip
def test_of_two_tensors(tmp_path, kind, expected):
    other = np.float32([0.5, -1.5, 2.0, 3.0])
    found = evaluated(tmp_path, one(kind, X.shape, x="x", y=other))
    assert np.allclose(found, expected(X.astype(np.float64), other.astype(np.float64)))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less), ("greater", np.greater),
     ("less_equal", np.less_equal), ("greater_equal", np.greater_equal)],
)  # fmt: skip
def test_comparisons(tmp_path, kind, expected):
    x = np.float32([1.0, 2.0, 3.0])
    found = evaluated(tmp_path, one(kind, (3,), dtype="bool", x="x", y=np.float32(2.0)), x)
    assert found.tolist() == expected(x, 2.0).tolist()


def test_indices_are_int32_as_the_program_declares(tmp_path):
    data = one("reduce_argmax", X.shape, out=(2, 4), dtype="int32", x="x", axis=np.int32(1),
               keep_dims=np.bool_(False))  # fmt: skip
    found = evaluated(tmp_path, data)
    assert found.dtype == np.int32
    assert np.array_equal(found, X.argmax(1))
    data = one("argsort", X.shape, dtype="int32", x="x", axis=np.int32(2), ascending=np.bool_(True))
    assert np.array_equal(evaluated(tmp_path, data), X.argsort(2))


def test_pixels_become_channels_as_in_pytorch(tmp_path):
    image = np.arange(2 * 4 * 6, dtype=np.float32).reshape(1, 2, 4, 6)
    data = one("pixel_unshuffle", image.shape, out=(1, 8, 2, 3), x="x",
               downscale_factor=np.int32(2))  # fmt: skip
    wanted = np.stack([image[0, c, i::2, j::2] for c in (0, 1) for i in (0, 1) for j in (0, 1)])
    assert np.array_equal(evaluated(tmp_path, data, image)[0], wanted)


def test_one_hot_has_the_values_and_the_type_that_are_stated(tmp_path):
    data = one("one_hot", (2,), out=(3, 2), indices=ints(2, 0), one_hot_vector_size=np.int32(3),
               axis=np.int32(0), on_value=np.float32(2.0), off_value=np.float32(-1.0))  # fmt: skip
    found = evaluated(tmp_path, data, np.float32([0, 0]))
    assert found.tolist() == [[-1, 2], [-1, -1], [2, -1]]


def test_places_of_what_is_not_zero_and_a_tensor_of_one_number(tmp_path):
    x = np.float32([[0, 3], [4, 0]])
    places = evaluated(tmp_path, one("non_zero", x.shape, out=(2, 2), dtype="int32", x="x"), x)
    assert places.tolist() == [[0, 1], [1, 0]]
    data = one("fill_like", x.shape, ref_tensor="x", value=np.float32(1.5))
    assert evaluated(tmp_path, data, x).tolist() == [[1.5, 1.5], [1.5, 1.5]]


@pytest.mark.parametrize("align", [True, False])
def test_an_image_sampled_at_coordinates(tmp_path, align):
    """The corners of the image, as they are meant by ``align_corners``."""
    image = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    edge = 1.0 if align else 0.75
    top = edge if align else 2 / 3
    grid = np.float32([[[[-edge, -top], [edge, -top]], [[-edge, top], [edge, top]]]])
    data = one(
        "resample", image.shape, out=(1, 1, 2, 2), x="x", coordinates=grid,
        sampling_mode="bilinear", padding_mode="constant", padding_value=np.float32(0),
        coordinates_mode="normalized_minus_one_to_one", align_corners=np.bool_(align),
    )  # fmt: skip
    assert np.allclose(evaluated(tmp_path, data, image)[0, 0], [[0, 3], [8, 11]], atol=1e-5)


@pytest.mark.parametrize(("mode", "kind"), [("update", "set"), ("add", "add")])
def test_scatter_replaces_or_adds_slices(tmp_path, mode, kind):
    updates = np.ones((2, 2, 4), np.float32)
    data = one("scatter", X.shape, data="x", indices=ints(2, 0), updates=updates,
               axis=np.int32(1), mode=mode)  # fmt: skip
    wanted = X.astype(np.float64)
    wanted[:, [2, 0]] = 1.0 if kind == "set" else wanted[:, [2, 0]] + 1.0
    assert np.allclose(evaluated(tmp_path, data), wanted)


def test_lists_of_tensors(tmp_path):
    block = Block()
    block.const("axis", np.int32(1))
    block.op("concat", "c", "float32", (2, 6, 4), values=["x", "x"], axis="axis")
    block.op("stack", "s", "float32", (2, 2, 3, 4), values=["x", "x"], axis="axis")
    block.const("sizes", ints(1, 2))
    block.op("split", [("a", "float32", (2, 1, 4)), ("b", "float32", (2, 2, 4))], x="x",
             axis="axis", split_sizes="sizes")  # fmt: skip
    names = ["c", "s", "a", "b"]
    made = program(tmp_path, specification(block, [("x", "float32", X.shape)], names))
    found = Evaluator(made).run({"x": X}, names)
    assert np.array_equal(found["c"], np.concatenate([X, X], 1))
    assert np.array_equal(found["s"], np.stack([X, X], 1))
    assert np.array_equal(found["a"], X[:, :1])
    assert np.array_equal(found["b"], X[:, 1:])


def test_what_is_not_understood_is_named_with_the_reason(tmp_path):
    for kind, stated, reason in (
        ("gelu", {"mode": "ODD"}, "the mode 'ODD'"),
        (
            "concat",
            {"values": "x", "axis": np.int32(0), "interleave": np.bool_(True)},
            "interleaved",
        ),
        ("pad", {"pad": ints(1, 1), "mode": "odd"}, "the mode of its padding"),
    ):
        made = program(tmp_path, one(kind, X.shape, x="x", **stated))
        (node,) = lowered(made).nodes
        assert reason in node.missing
        with pytest.raises(UnreadableModelError, match=kind) as caught:
            Evaluator(made)
        assert caught.value.code == "UNSUPPORTED_OP"


def test_the_table_has_an_entry_for_what_usual_conversions_use():
    usual = {"conv", "linear", "matmul", "layer_norm", "softmax", "gelu", "lstm", "gather", "split",
             "upsample_bilinear", "constexpr_lut_to_dense", "slice_by_index"}  # fmt: skip
    assert usual <= set(TABLE)

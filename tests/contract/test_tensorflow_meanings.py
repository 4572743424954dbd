"""What a proof takes TensorFlow's operators to mean, held to TensorFlow itself."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from isomorph.frameworks.tensorflow.meanings import MEANINGS
from isomorph.frameworks.tensorflow.meanings_control import LISTS
from isomorph.proof.real import evaluated
from spelled_values import side_of
from tensorflow_oracle_cases import Case, normal, positive, tf

raw = tf.raw_ops


def f(*shape):
    return normal(*shape) * np.float32(2)


def flags(*shape):
    return normal(*shape) > 0


def i32(*values):
    return np.array(values, np.int32)


CASES: dict[str, list] = {}
"""By operator: functions of the module ``raw_ops``, with the arrays that are fed."""


def case(op, *arrays, **stated):
    """The operator with these inputs, in the order of its arguments; ``stated`` are constants."""
    names = stated.pop("named")

    def function(*given):
        return getattr(raw, op)(**dict(zip(names, given, strict=True)), **stated)

    CASES.setdefault(op, []).append((function, arrays))


for _op in ("Exp", "Tanh", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Atan", "Asinh", "Floor", "Ceil",
            "Round", "Rint", "Sign", "Erf", "Erfc", "Abs", "Neg", "Square", "Sigmoid"):  # fmt: skip
    case(_op, f(3, 4), named="x")
for _op in ("Round", "Rint"):
    case(_op, np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]), named="x")
for _op in ("Log", "Sqrt", "Rsqrt", "Reciprocal"):
    case(_op, positive(3, 4), named="x")
for _op in ("Asin", "Acos", "Atanh"):
    case(_op, positive(3, 4) / np.float32(2.5), named="x")
case("Acosh", positive(3, 4) + np.float32(1), named="x")
for _op in ("Softplus", "Relu", "Relu6", "Elu"):
    case(_op, f(3, 4) * np.float32(3), named=["features"])
case("LeakyRelu", f(3, 4), named=["features"], alpha=0.3)
for _op in ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"):
    case(_op, f(2, 3), f(3), named="xy")
case("RealDiv", f(2, 3), positive(3), named="xy")
for _y in (2.0, 3.0, 0.5, -1.0, 1.7):
    case("Pow", positive(2, 3), named="x", y=np.float32(_y))
case("ClipByValue", f(9), named=["t"], clip_value_min=-0.5, clip_value_max=0.7)
for _op in ("Softmax", "LogSoftmax"):
    case(_op, f(2, 3, 4), named=["logits"])
_x = np.round(f(4, 5))
for _op in ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"):
    case(_op, _x, _x[::-1].copy(), named="xy")
for _op in ("LogicalAnd", "LogicalOr"):
    case(_op, flags(4, 5), flags(5), named="xy")
case("LogicalNot", flags(4, 5), named="x")
case("Select", flags(4, 5), f(4, 5), f(4, 5), named=["condition", "x", "y"])
case("SelectV2", flags(4, 5), f(1, 5), f(4, 1), named=["condition", "t", "e"])
case("Cast", flags(4), named="x", DstT=tf.float32)
case("Cast", i32(4, 3), named="x", DstT=tf.int64)
for _a in (False, True):
    for _b in (False, True):
        case("MatMul", f(4, 3) if _a else f(3, 4), f(5, 4) if _b else f(4, 5), named="ab",
             transpose_a=_a, transpose_b=_b)  # fmt: skip
        for _op in ("BatchMatMul", "BatchMatMulV2"):
            case(_op, f(2, 4, 3) if _a else f(2, 3, 4), f(2, 5, 4) if _b else f(2, 4, 5),
                 named="xy", adj_x=_a, adj_y=_b)  # fmt: skip
case("BatchMatMulV2", f(2, 1, 3, 4), f(3, 4, 5), named="xy")
for _equation, _shapes in (
    ("abc,cde->abde", ((2, 3, 4), (4, 5, 2))),
    ("aecd,abcd->acbe", ((2, 3, 2, 4), (2, 5, 2, 4))),
    ("BTNH,BSNH->BNTS", ((2, 3, 2, 4), (2, 5, 2, 4))),
    ("acbe,aecd->abcd", ((2, 2, 5, 3), (2, 3, 2, 4))),
    ("ij,k->kj", ((2, 3), (4,))),
    ("i,j->ji", ((2,), (3,))),
    ("i,i->", ((5,), (5,))),
    ("ijk->kj", ((2, 3, 4),)),
    ("bij,bj->b", ((2, 3, 4), (2, 4))),
):
    CASES.setdefault("Einsum", []).append(
        (lambda *given, e=_equation: raw.Einsum(inputs=list(given), equation=e),
         tuple(f(*shape) for shape in _shapes))
    )  # fmt: skip
for _op in ("Mean", "Sum", "Max", "Min"):
    for _axes in ((1,), (-1,), (0, 2), (0, 1, 2)):
        for _kept in (True, False):
            case(_op, f(2, 3, 4), named=["input"], axis=i32(*_axes), keep_dims=_kept)
case("ArgMax", f(2, 3, 4), named=["input"], dimension=-1, output_type=tf.int32)
case("ArgMax", f(2, 3, 4), named=["input"], dimension=1)
for _a in (False, True):
    for _b in (False, True):
        case("Cumsum", f(2, 3, 4), named="x", axis=1, exclusive=_a, reverse=_b)
for _op in ("Identity", "StopGradient", "PreventGradient"):
    case(_op, f(2, 3), named=["input"])
case("Snapshot", f(2, 3), named=["input"])
CASES["IdentityN"] = [(lambda a, b: raw.IdentityN(input=[a, b]), (f(2), f(3)))]
case("EnsureShape", f(2, 3), named=["input"], shape=tf.TensorShape([None, 3]))
case("Reshape", f(3, 4), named=["tensor"], shape=i32(2, -1))
case("Squeeze", f(1, 3, 1), named=["input"])
case("Squeeze", f(1, 3, 1), named=["input"], axis=[-1])
for _axis in (0, 1, -1):
    case("ExpandDims", f(3, 4), named=["input"], axis=_axis)
    CASES.setdefault("Pack", []).append(
        (lambda a, b, at=_axis: raw.Pack(values=[a, b], axis=at), (f(3, 4), f(3, 4)))
    )
    case("Unpack", f(3, 3, 3), named=["value"], num=3, axis=_axis)
case("Transpose", f(2, 3, 4), named="x", perm=i32(2, 0, 1))
CASES["ConcatV2"] = [
    (lambda a, b: raw.ConcatV2(values=[a, b], axis=-1), (f(2, 3), f(2, 4))),
    (lambda a, b: raw.ConcatV2(values=[a, b], axis=0), (f(2, 3), f(1, 3))),
]
case("Split", f(2, 6), named=["value"], axis=-1, num_split=3)
case("SplitV", f(2, 6), named=["value"], size_splits=i32(1, -1, 2), axis=1, num_split=3)
case("Slice", f(3, 4, 5), named=["input"], begin=i32(1, 0, 2), size=i32(2, -1, 1))
for _begin, _end, _step, _masks in (
    ((1, 0, 1), (3, 4, 5), (1, 2, 3), {}),
    ((-1, -1, 4), (-4, 0, 0), (-1, -2, -1), {}),
    ((0, 3, 1), (0, 0, 5), (1, -1, 1), {"begin_mask": 1, "end_mask": 3}),
    ((1, 0, -2), (2, 4, -1), (1, 1, 1), {"shrink_axis_mask": 5}),
    ((1, 0, 9), (99, 4, 99), (1, 1, 1), {"begin_mask": 4}),
    ((0, 1), (0, 3), (1, 1), {"ellipsis_mask": 1}),
    ((1, 0, 0), (3, 0, 2), (1, 1, 1), {"new_axis_mask": 2}),
    ((0, 0, 1), (0, 0, 2), (1, 1, 1),
     {"ellipsis_mask": 1, "new_axis_mask": 2, "shrink_axis_mask": 4}),
):  # fmt: skip
    case("StridedSlice", f(3, 4, 5), named=["input"], begin=i32(*_begin), end=i32(*_end),
         strides=i32(*_step), **_masks)  # fmt: skip
_widths = np.array([[1, 0], [0, 2]], np.int32)
case("Pad", f(3, 4), named=["input"], paddings=_widths)
case("PadV2", f(3, 4), named=["input"], paddings=_widths, constant_values=np.float32(0.7))
for _mode in ("REFLECT", "SYMMETRIC"):
    case("MirrorPad", f(3, 4), named=["input"], paddings=_widths, mode=_mode)
case("GatherV2", f(3, 4), i32(2, 0, 0), named=["params", "indices"], axis=0)
case("GatherV2", f(3, 4), named=["params"], indices=np.array([[1, 3]], np.int32), axis=-1)
case("Tile", f(3, 4), named=["input"], multiples=i32(2, 3))
case("BroadcastTo", f(4, 1), named=["input"], shape=i32(3, 4, 5))
case("DepthToSpace", f(1, 2, 3, 8), named=["input"], block_size=2)
case("SpaceToDepth", f(1, 4, 6, 3), named=["input"], block_size=2)
_edges = np.array([[1, 0], [2, 1]], np.int32)
case("SpaceToBatchND", f(2, 5, 6, 2), named=["input"], block_shape=i32(2, 3), paddings=_edges)
case("BatchToSpaceND", f(12, 3, 3, 2), named=["input"], block_shape=i32(2, 3), crops=_edges)
case("ReverseV2", f(2, 3), named=["tensor"], axis=i32(-1, 0))
for _padding in ("SAME", "VALID"):
    for _s, _d in (((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 3))):
        case("Conv2D", f(2, 9, 11, 4), f(3, 2, 4, 6), named=["input", "filter"],
             strides=[1, *_s, 1], dilations=[1, *_d, 1], padding=_padding)  # fmt: skip
        if _s != (2, 3):
            case("DepthwiseConv2dNative", f(2, 9, 11, 4), f(3, 2, 4, 2), named=["input", "filter"],
                 strides=[1, *_s, 1], dilations=[1, *_d, 1], padding=_padding)  # fmt: skip
    for _op, _word in (("MaxPool", "input"), ("AvgPool", "value")):
        # Negative numbers only: a border that counted as zero would be the largest.
        case(_op, -positive(2, 7, 8, 3), named=[_word], ksize=[1, 3, 2, 1], strides=[1, 2, 3, 1],
             padding=_padding)  # fmt: skip
case("DepthwiseConv2dNative", f(1, 7, 7, 3), f(3, 3, 3, 1), named=["input", "filter"],
     strides=[1, 2, 2, 1], padding="SAME")  # fmt: skip
case("Conv2D", f(1, 6, 6, 6), f(3, 3, 3, 4), named=["input", "filter"], strides=[1, 2, 2, 1],
     padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 3, 0, 0])  # fmt: skip
for _size, _padding, _stride in (((8, 9), "SAME", 2), ((7, 9), "SAME", 2), ((9, 11), "VALID", 2),
                                 ((10, 11), "VALID", 2)):  # fmt: skip
    _given = [-(-(n if _padding == "SAME" else n - 2) // _stride) for n in _size]
    case("Conv2DBackpropInput", f(3, 3, 3, 4), f(1, *_given, 4), named=["filter", "out_backprop"],
         input_sizes=i32(1, *_size, 3), strides=[1, _stride, _stride, 1],
         padding=_padding)  # fmt: skip
for _size in ((12, 5), (10, 15), (1, 4)):
    for _a, _b in ((False, False), (True, False), (False, True)):
        case("ResizeBilinear", f(1, 5, 5, 2), named=["images"], size=i32(*_size),
             align_corners=_a, half_pixel_centers=_b)  # fmt: skip
for _b in (False, True):
    case("ResizeNearestNeighbor", f(1, 5, 4, 2), named=["images"], size=i32(10, 12),
         half_pixel_centers=_b)  # fmt: skip
case("BiasAdd", f(2, 3, 4), f(4), named=["value", "bias"])
case("BiasAdd", f(2, 3, 4, 5), f(3), named=["value", "bias"], data_format="NCHW")
CASES["FusedBatchNormV3"] = [
    (
        lambda x, a, b, c, d: (
            raw.FusedBatchNormV3(
                x=x, scale=a, offset=b, mean=c, variance=d, epsilon=1e-3, is_training=False
            ).y
        ),
        (f(2, 3, 4, 5), f(5), f(5), f(5), positive(5)),
    )
]


def spelled(listed):
    """Pairs of an operator, its result here and TensorFlow's, of many cases in one function."""
    arrays = [array for _, _, given in listed for array in given]
    owners = []

    def together(*given):
        given, results = iter(given), []
        for op, function, own in listed:
            made = function(*(next(given) for _ in own))
            made = list(made) if isinstance(made, (list, tuple)) else [made]
            owners.extend([op] * len(made))
            results += made
        return results

    built = Case(together, *arrays)
    owners = owners[: len(built.outputs)]
    side, _ = side_of(built.function, built.feeds)
    for node in side.graph.nodes:
        assert side.spell(node) is not None, next(iter(side.refused.values()))
    assert {op for op, _, _ in listed} <= {node.native_op for node in side.graph.nodes}
    wide = {
        name: np.asarray(value, np.float64) if value.dtype.kind == "f" else value
        for name, value in built.feeds.items()
    }
    ran, known = built.ran(), {}
    for place, op in enumerate(owners):
        term = side.read(f"y{place}")
        yield op, evaluated(term, wide, known), ran[f"y{place}"]


def all_cases():
    return [(op, *each) for op in sorted(CASES) for each in CASES[op]]


def test_every_meaning_is_that_of_tensorflow():
    for op, one, other in spelled(all_cases()):
        assert one.shape == other.shape, op
        allowed = 3e-5 * np.abs(np.asarray(other, np.float64)).max(initial=1e-3)
        np.testing.assert_allclose(
            np.asarray(one, np.float64), np.asarray(other, np.float64), rtol=0, atol=allowed,
            err_msg=op,
        )  # fmt: skip


def test_every_operator_has_a_case():
    # Branches, loops and lists have theirs in ``test_control_flow_meanings.py``.
    assert MEANINGS.spelled.keys() - MEANINGS.controlled - LISTS.keys() == CASES.keys()


@pytest.mark.parametrize(
    ("function", "arrays", "why"),
    [
        (lambda x, s: raw.FusedBatchNormV3(x=x, scale=s, offset=s, mean=s, variance=s,
                                           is_training=True).y,
         (f(2, 3, 4, 5), positive(5)), "training"),
        (lambda x, i: raw.GatherV2(params=x, indices=i, axis=1, batch_dims=1),
         (f(3, 4, 2), np.zeros((3, 2), np.int32)), "batch_dims"),
        (lambda x: raw.Cast(x=x, DstT=tf.float16, Truncate=True), (f(3),), "Truncate"),
        (lambda x: raw.ClipByValue(t=x, clip_value_min=2.0, clip_value_max=1.0), (f(3),), "order"),
        (lambda x: raw.RandomUniform(shape=tf.shape(x), dtype=tf.float32) + x, (f(3),),
         "RandomUniform"),
        (lambda x: raw.Einsum(inputs=[x], equation="ii->i"), (f(3, 3),), "equation"),
    ],
)  # fmt: skip
def test_what_trains_draws_or_is_not_understood_has_no_meaning(function, arrays, why):
    built = Case(function, *arrays)
    side, _ = side_of(built.function, built.feeds)
    assert any(side.spell(node) is None for node in side.graph.nodes)
    assert any(why in f"{each.op} {each.details}" for each in side.refused.values())


def test_a_model_that_writes_a_variable_has_no_meaning():
    from isomorph.core.model import Graph, Node

    nodes = (
        Node(name="keep", op="Assign", native_op="AssignVariableOp", inputs=("v", "x"), outputs=()),
        Node(name="read", op="Relu", native_op="Relu", inputs=("x",), outputs=("z",)),
    )
    graph = Graph(name="g", inputs=(), outputs=(), nodes=nodes, tensors={}, constants={},
                  framework="tensorflow")  # fmt: skip
    assert "state" in MEANINGS.effects(graph)["read"]

"""What a proof takes TFLite's operators to mean, held to LiteRT's kernels."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from ai_edge_litert import schema_py_generated as schema

from isomorph.frameworks.tflite.meanings import MEANINGS
from spelled_values import spelled_values
from tflite_one_operator import OneOperator, T, data, stored

RNG = np.random.default_rng(23)
ACTIVATIONS = {
    name: getattr(schema.ActivationFunctionType, name)
    for name in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH")
}
NO_REFERENCE = {"ELU", "ROUND", "CEIL"}
"""Operators that have an optimized kernel alone."""
SAME, VALID = schema.Padding.SAME, schema.Padding.VALID


def f(*shape, scale=2.0):
    return data((RNG.normal(size=shape) * scale).astype(np.float32))


def positive(*shape):
    return data(RNG.uniform(0.3, 2.0, size=shape).astype(np.float32))


def w(*shape):
    return stored(RNG.normal(size=shape).astype(np.float32))


def flags(*shape):
    return data(RNG.random(shape) > 0.5, "bool")


def ints(*values):
    return stored(np.array(values, np.int32))


def number(value):
    return stored(np.array(value, np.int32))


def places(high, *shape):
    return data(RNG.integers(0, high, shape), "int32")


def case(op, *inputs, options=None, out=1, dtype="float32", version=1, **settings):
    return OneOperator(op, inputs, [T(dtype=dtype)] * out, options, version, **settings)


def fused(op, options, *inputs, **settings):
    """The operator with each activation that it may fuse."""
    for name in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1"):
        yield case(op, *inputs, options=options, fusedActivationFunction=ACTIVATIONS[name],
                   **settings)  # fmt: skip


def convolutions():
    for padding in (SAME, VALID):
        for stride, dilation in (((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 3))):
            steps = {"strideH": stride[0], "strideW": stride[1], "padding": padding,
                     "dilationHFactor": dilation[0], "dilationWFactor": dilation[1]}  # fmt: skip
            yield case("CONV_2D", f(2, 9, 11, 4), w(6, 3, 2, 4), w(6), options="Conv2D", **steps)
            yield case("DEPTHWISE_CONV_2D", f(2, 9, 11, 4), w(1, 3, 2, 8), w(8),
                       options="DepthwiseConv2D", depthMultiplier=2, **steps)  # fmt: skip
    plain = {"strideH": 2, "strideW": 1, "padding": SAME, "dilationHFactor": 1,
             "dilationWFactor": 1}  # fmt: skip
    yield case("CONV_2D", f(1, 6, 6, 6), w(4, 3, 3, 3), w(4), options="Conv2D", **plain)
    yield from fused("CONV_2D", "Conv2D", f(1, 6, 7, 2), w(3, 3, 3, 2), w(3), **plain)
    yield from fused("DEPTHWISE_CONV_2D", "DepthwiseConv2D", f(1, 6, 7, 3), w(1, 3, 3, 3), w(3),
                     depthMultiplier=1, **plain)  # fmt: skip
    for shape, padding, stride in (((1, 8, 9, 3), SAME, 2), ((1, 7, 9, 3), SAME, 2),
                                   ((1, 9, 11, 3), VALID, 2), ((1, 4, 5, 3), SAME, 1)):  # fmt: skip
        size = [-(-n // stride) if padding == SAME else -(-(n - 2) // stride) for n in shape[1:3]]
        yield case("TRANSPOSE_CONV", ints(*shape), w(3, 3, 3, 4), f(1, *size, 4),
                   options="TransposeConv", padding=padding, strideH=stride,
                   strideW=stride)  # fmt: skip


def pools():
    for op in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        for padding in (SAME, VALID):
            for stride in ((1, 1), (2, 3)):
                # Negative numbers only: a border that counted as zero would be the largest.
                x = data(-positive(2, 7, 8, 3).array)
                yield case(op, x, options="Pool2D", filterHeight=3, filterWidth=2, padding=padding,
                           strideH=stride[0], strideW=stride[1])  # fmt: skip
        yield from fused(op, "Pool2D", f(1, 5, 5, 2), filterHeight=2, filterWidth=2, padding=VALID,
                         strideH=2, strideW=2)  # fmt: skip


def arithmetic():
    for op in ("ADD", "SUB", "MUL", "DIV"):
        yield from fused(op, op.title(), f(2, 3, 4), positive(3, 1))
        if op != "DIV":
            yield case(op, f(2, 3), w(3), options=op.title())
    yield case("MAXIMUM", f(2, 3), f(3), options="MaximumMinimum")
    yield case("MINIMUM", f(2, 3), f(3), options="MaximumMinimum")
    yield case("SQUARED_DIFFERENCE", f(2, 3), f(3), options="SquaredDifference", version=1)
    for exponent in (2.0, 3.0, 0.5, -1.0, 1.7):
        yield case("POW", positive(2, 3), stored(np.float32(exponent)), options="Pow")
    yield case("POW", positive(2, 3), f(2, 3), options="Pow")


def functions():
    for op in ("EXP", "TANH", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "ABS", "NEG", "SQUARE",
               "LOGISTIC", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "ELU", "HARD_SWISH",
               "LOG_SOFTMAX", "SIGN"):  # fmt: skip
        yield case(op, f(3, 7, scale=4.0))
    yield case("ROUND", data(np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])))
    for op in ("LOG", "SQRT", "RSQRT"):
        yield case(op, positive(3, 7))
    yield case("SOFTMAX", f(3, 7), options="Softmax", beta=1.0)
    yield case("SOFTMAX", f(2, 3, 7), options="Softmax", beta=0.7)
    yield case("LEAKY_RELU", f(3, 7), options="LeakyRelu", alpha=0.3)
    yield case("PRELU", f(2, 3, 4, 5), w(1, 1, 5))
    yield case("GELU", f(3, 7), options="Gelu", approximate=False)
    yield case("GELU", f(3, 7), options="Gelu", approximate=True)


def decisions():
    for op in ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"):
        x = RNG.integers(-2, 3, (4, 5)).astype(np.float32)
        yield case(op, data(x), data(x[::-1].copy()), dtype="bool")
    for op in ("LOGICAL_AND", "LOGICAL_OR"):
        yield case(op, flags(4, 5), flags(4, 5), dtype="bool")
    yield case("LOGICAL_NOT", flags(4, 5), dtype="bool")
    yield case("SELECT", flags(4, 5), f(4, 5), f(4, 5))
    yield case("SELECT_V2", flags(4, 5), f(1, 5), f(4, 1))
    yield case("CAST", flags(4), options="Cast", inDataType=schema.TensorType.BOOL,
               outDataType=schema.TensorType.FLOAT32)  # fmt: skip
    yield case("CAST", places(9, 4), options="Cast", inDataType=schema.TensorType.INT32,
               outDataType=schema.TensorType.INT64, dtype="int64")  # fmt: skip
    yield case("DEQUANTIZE", data(np.float16([0.1, -3.3]), "float16"), options="Dequantize",
               version=3)  # fmt: skip


def products():
    for kept in (True, False):
        yield case("FULLY_CONNECTED", f(2, 3, 4), w(5, 4), w(5), options="FullyConnected",
                   keepNumDims=kept, version=2)  # fmt: skip
    yield case("FULLY_CONNECTED", f(2, 3, 4), w(5, 12), None, options="FullyConnected", version=2)
    yield from fused("FULLY_CONNECTED", "FullyConnected", f(2, 4), w(5, 4), w(5))
    for left in (False, True):
        for right in (False, True):
            a, b = (f(2, 4, 3) if left else f(2, 3, 4)), (f(2, 5, 4) if right else f(2, 4, 5))
            yield case("BATCH_MATMUL", a, b, options="BatchMatMul", adjX=left, adjY=right)
    yield case("BATCH_MATMUL", f(2, 1, 3, 4), f(3, 4, 5), options="BatchMatMul")


def reductions():
    for op in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        for axes in ((1,), (-1,), (0, 2), (0, 1, 2)):
            for kept in (True, False):
                yield case(op, f(2, 3, 4), ints(*axes), options="Reducer", keepDims=kept)
    kind = schema.TensorType
    yield case("ARG_MAX", f(2, 3, 4), ints(-1), options="ArgMax", outputType=kind.INT32,
               dtype="int32")  # fmt: skip
    yield case("ARG_MAX", f(2, 3, 4), ints(1), options="ArgMax", outputType=kind.INT64,
               dtype="int64")  # fmt: skip
    for exclusive in (True, False):
        for backwards in (True, False):
            yield case("CUMSUM", f(2, 3, 4), number(1), options="Cumsum", exclusive=exclusive,
                       reverse=backwards)  # fmt: skip


def movements():
    x = f(3, 4, 5)
    yield case("RESHAPE", x, ints(6, -1), options="Reshape")
    yield case("RESHAPE", x, options="Reshape", newShape=[2, -1])
    yield case("SQUEEZE", f(1, 3, 1, 2), options="Squeeze", squeezeDims=[])
    yield case("SQUEEZE", f(1, 3, 1, 2), options="Squeeze", squeezeDims=[-2])
    for axis in (0, 2, -1):
        yield case("EXPAND_DIMS", x, number(axis), options="ExpandDims")
    yield case("TRANSPOSE", x, ints(2, 0, 1), options="Transpose")
    yield case("CONCATENATION", f(2, 3), f(2, 5), options="Concatenation", axis=-1)
    for axis in (0, -1):
        yield case("PACK", x, x, options="Pack", axis=axis, valuesCount=2)
        yield case("UNPACK", f(3, 2, 3), options="Unpack", axis=axis, num=3, out=3)
    yield case("SPLIT", number(1), f(2, 6), options="Split", numSplits=3, out=3)
    yield case("SPLIT", number(-2), f(4, 6), options="Split", numSplits=2, out=2)
    yield case("SPLIT_V", f(2, 6), ints(1, -1, 2), number(1), options="SplitV", numSplits=3, out=3)
    yield case("SLICE", x, ints(1, 0, 2), ints(2, -1, 1), options="Slice")
    masks = {"beginMask": 0, "endMask": 0, "ellipsisMask": 0, "newAxisMask": 0,
             "shrinkAxisMask": 0}  # fmt: skip
    for begin, end, step, stated in (
        ((1, 0, 1), (3, 4, 5), (1, 2, 3), {}),
        ((-1, -1, 4), (-4, 0, 0), (-1, -2, -1), {}),
        ((0, 3, 1), (0, 0, 5), (1, -1, 1), {"beginMask": 1, "endMask": 3}),
        ((1, 0, -2), (2, 4, -1), (1, 1, 1), {"shrinkAxisMask": 5}),
        ((1, 0, 9), (99, 4, 99), (1, 1, 1), {"beginMask": 4}),
        ((0, 1), (0, 3), (1, 1), {"ellipsisMask": 1}),
        ((1, 0, 0), (3, 0, 2), (1, 1, 1), {"newAxisMask": 2}),
        ((0, 0, 1), (0, 0, 2), (1, 1, 1), {"ellipsisMask": 1, "newAxisMask": 2,
                                            "shrinkAxisMask": 4}),
    ):  # fmt: skip
        yield case("STRIDED_SLICE", x, ints(*begin), ints(*end), ints(*step),
                   options="StridedSlice", **{**masks, **stated})  # fmt: skip
    widths = stored(np.array([[1, 0], [0, 2], [2, 1]], np.int32))
    yield case("PAD", x, widths, options="Pad")
    yield case("PADV2", x, widths, stored(np.float32(0.7)), options="PadV2")
    for mode in (schema.MirrorPadMode.REFLECT, schema.MirrorPadMode.SYMMETRIC):
        yield case("MIRROR_PAD", x, widths, options="MirrorPad", mode=mode)
    yield case("GATHER", x, places(4, 2, 3), options="Gather", axis=1)
    yield case("GATHER", x, ints(2, 0), options="Gather", axis=-2)
    yield case("EMBEDDING_LOOKUP", places(6, 4), w(6, 3))
    yield case("TILE", x, ints(2, 1, 3), options="Tile")
    yield case("BROADCAST_TO", f(4, 1), ints(3, 4, 5), options="BroadcastTo", version=2)
    yield case("DEPTH_TO_SPACE", f(1, 2, 3, 8), options="DepthToSpace", blockSize=2)
    yield case("SPACE_TO_DEPTH", f(1, 4, 6, 3), options="SpaceToDepth", blockSize=2)
    block = ints(2, 3)
    edges = stored(np.array([[1, 0], [2, 1]], np.int32))
    yield case("SPACE_TO_BATCH_ND", f(2, 5, 6, 2), block, edges, options="SpaceToBatchND")
    yield case("BATCH_TO_SPACE_ND", f(12, 3, 3, 2), block, edges, options="BatchToSpaceND")
    yield case("REVERSE_V2", x, ints(1), options="ReverseV2")


def resizes():
    for size in ((12, 5), (10, 15), (5, 5), (1, 4)):
        for corners, halves in ((False, False), (True, False), (False, True)):
            yield case("RESIZE_BILINEAR", f(1, 5, 5, 2), ints(*size), options="ResizeBilinear",
                       alignCorners=corners, halfPixelCenters=halves)  # fmt: skip
    for halves in (False, True):
        yield case("RESIZE_NEAREST_NEIGHBOR", f(1, 5, 4, 2), ints(10, 12),
                   options="ResizeNearestNeighbor", alignCorners=False,
                   halfPixelCenters=halves)  # fmt: skip


GROUPS = (
    resizes,
    convolutions,
    pools,
    arithmetic,
    functions,
    decisions,
    products,
    reductions,
    movements,
)


@pytest.mark.parametrize("group", GROUPS, ids=lambda each: each.__name__)
def test_every_meaning_is_that_of_the_kernels(group):
    for each in group():
        made, _ = spelled_values(each.bytes, each.feeds)
        assert not isinstance(made, str), (each.op, each.settings, made)
        wanted = each.in_litert("builtin" if each.op in NO_REFERENCE else "reference")
        assert len(made) == len(wanted)
        for one, other in zip(made, wanted, strict=True):
            assert one.shape == other.shape, (each.op, each.settings)
            allowed = 2e-5 * np.abs(np.asarray(other, np.float64)).max(initial=1e-3)
            np.testing.assert_allclose(
                np.asarray(one, np.float64), np.asarray(other, np.float64), rtol=0, atol=allowed,
                err_msg=f"{each.op} {each.settings}",
            )  # fmt: skip


def test_every_operator_has_a_case():
    # Branches and loops have theirs in ``test_control_flow_meanings.py``.
    listed = MEANINGS.spelled.keys() - MEANINGS.controlled
    assert listed == {each.op for group in GROUPS for each in group()}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: case("ADD", f(2), f(2), options="Add",
                      fusedActivationFunction=ACTIVATIONS["TANH"]), "TANH"),
        (lambda: case("GATHER", f(2, 3, 4), places(3, 2, 2), options="Gather", axis=1,
                      batchDims=1), "batch_dims"),
        (lambda: OneOperator("ADD", [data(np.int8([1, 2]), "int8", scale=0.1), data(
            np.int8([1, 2]), "int8", scale=0.1)], [T(dtype="int8", scale=0.2)], "Add"),
         "quantized"),
        (lambda: OneOperator("FULLY_CONNECTED", [f(2, 4), stored(np.int8(RNG.integers(
            -9, 9, (3, 4))), "int8", scale=0.1)], [T()], "FullyConnected"), "quantized"),
        (lambda: case("DIV", places(9, 3), stored(np.int32([1, 2, 3])), options="Div",
                      dtype="int32"), "quotient"),
        (lambda: case("RELU", places(9, 3), dtype="int32"), "int32"),
        (lambda: case("RESHAPE", f(2, 3), number(6), options="Reshape", newShape=[3, 2]),
         "no vector"),
        (lambda: case("CAST", f(4), options="Cast", inDataType=schema.TensorType.FLOAT32,
                      outDataType=schema.TensorType.INT8, dtype="int8"), "may not hold"),
    ],
)  # fmt: skip
def test_what_is_quantized_or_not_understood_has_no_meaning(made, why):
    each = made()
    found, _ = spelled_values(each.bytes, each.feeds)
    assert isinstance(found, str)
    assert why in found


def test_a_state_that_a_cell_overwrites_has_no_meaning():
    from isomorph.core.model import Constant, Graph, Node, TensorSpec

    spec = TensorSpec(name="s", dtype="float32", shape=(2,))
    constant = Constant(name="s", dtype="float32", shape=(2,), digest="0", value_digest="0")
    nodes = (
        Node(name="cell", op="RNN", native_op="RNN", inputs=("s",), outputs=("y",)),
        Node(name="read", op="Relu", native_op="RELU", inputs=("s",), outputs=("z",)),
    )
    graph = Graph(name="g", inputs=(), outputs=(), nodes=nodes, tensors={"s": spec},
                  constants={"s": constant}, framework="tflite")  # fmt: skip
    assert "state" in MEANINGS.effects(graph)["read"]

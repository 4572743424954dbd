"""Our kernels of ONNX's own operators against ONNX Runtime, each within the kernel's own noise."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.kernels import registry
from one_node import OneNode, assert_same_within_rounding, rounding

registry.load_all()

RANDOM = np.random.default_rng(7)


def normal(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def positive(*shape):
    return (RANDOM.random(shape) + 0.5).astype(np.float32)


def unit(*shape):
    return (RANDOM.random(shape) * 1.8 - 0.9).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def standard(op, *inputs, version=17, **rest):
    return OneNode(op, inputs, domain="", version=version, **rest)


IMAGE = normal(2, 6, 11, 9)
ROW = normal(3, 40)

_FRAMED = np.sin(np.arange(1200) * 0.3) + RANDOM.standard_normal(1200) * 0.1
SIGNAL = _FRAMED.astype(np.float32).reshape(2, 600)


def fourier():
    """Lengths that are powers of two and others, of real and complex numbers, either way."""
    made = {}
    for size in (8, 31, 256, 400):
        for parts in (1, 2):
            x = normal(2, size, parts)
            made[f"dft {size} {parts}"] = standard("DFT", x, axis=1)
            made[f"inverse dft {size} {parts}"] = standard("DFT", x, axis=1, inverse=1)
        made[f"dft one side {size}"] = standard("DFT", normal(2, size, 1), axis=1, onesided=1)
    made["dft cut"] = standard("DFT", normal(3, 20, 2), ints(16).reshape(()), axis=1)
    made["dft filled"] = standard("DFT", normal(3, 20, 1), ints(32).reshape(()), axis=-2)
    made["dft of an axis"] = standard(
        "DFT", normal(3, 8, 5, 2), None, ints(1).reshape(()), version=20
    )
    for length, step in ((256, 64), (400, 160), (64, 64), (31, 7)):
        window = np.hanning(length + 2)[1:-1].astype(np.float32)
        every, size = ints(step).reshape(()), ints(length).reshape(())
        made[f"stft {length}"] = standard("STFT", SIGNAL[..., None], every, window)
        made[f"stft of rows {length}"] = standard("STFT", SIGNAL, every, None, size)
        made[f"stft both sides {length}"] = standard(
            "STFT", normal(2, 600, 2), every, window, size, onesided=0
        )
    return made


CASES = {
    **fourier(),
    "exp": standard("Exp", ROW),
    "log": standard("Log", positive(3, 40)),
    "sqrt": standard("Sqrt", positive(3, 40)),
    "reciprocal": standard("Reciprocal", positive(3, 40)),
    "sin": standard("Sin", normal(3, 40, scale=20)),
    "cos": standard("Cos", normal(3, 40, scale=20)),
    "tan": standard("Tan", unit(3, 40)),
    "asin": standard("Asin", unit(3, 40)),
    "acos": standard("Acos", unit(3, 40)),
    "atan": standard("Atan", ROW),
    "sinh": standard("Sinh", ROW),
    "cosh": standard("Cosh", ROW),
    "tanh": standard("Tanh", ROW),
    "asinh": standard("Asinh", ROW),
    "acosh": standard("Acosh", positive(3, 40) + 1),
    "atanh": standard("Atanh", unit(3, 40)),
    "erf": standard("Erf", ROW),
    "round": standard("Round", np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4])),
    "sign": standard("Sign", np.float32([-2, 0, 3])),
    "add": standard("Add", ROW, normal(40)),
    "div": standard("Div", ROW, positive(3, 1)),
    "pow": standard("Pow", positive(3, 40), normal(3, 40, scale=4)),
    "square": standard("Pow", ROW, np.float32(2.0)),
    "sum": standard("Sum", ROW, ROW[:1], normal(3, 1)),
    "mean": standard("Mean", ROW, ROW[:1], normal(3, 1)),
    "mod": standard("Mod", ints(7, -7, 7, -7), ints(3, 3, -3, -3)),
    "fmod": standard("Mod", ROW, np.float32([0.3]), fmod=1),
    "clip": standard("Clip", ROW, np.float32(-0.4), np.float32(0.9)),
    "relu": standard("Relu", ROW),
    "leaky": standard("LeakyRelu", ROW, alpha=0.123),
    "prelu": standard("PRelu", IMAGE, normal(6, 1, 1)),
    "elu": standard("Elu", ROW, alpha=1.3),
    "selu": standard("Selu", ROW),
    "celu": standard("Celu", ROW, alpha=0.7),
    "sigmoid": standard("Sigmoid", normal(3, 40, scale=6)),
    "softplus": standard("Softplus", normal(3, 40, scale=6)),
    "softsign": standard("Softsign", ROW),
    "hard sigmoid": standard("HardSigmoid", ROW, alpha=0.21, beta=0.4),
    "hard swish": standard("HardSwish", normal(3, 40, scale=3)),
    "thresholded": standard("ThresholdedRelu", ROW, alpha=0.3),
    "shrink": standard("Shrink", ROW, bias=0.1, lambd=0.3),
    "mish": standard("Mish", ROW, version=18),
    "gelu": standard("Gelu", ROW, version=20),
    "gelu tanh": standard("Gelu", ROW, version=20, approximate="tanh"),
    "matmul": standard("MatMul", normal(5, 7, 33), normal(33, 11)),
    "matmul batched": standard("MatMul", normal(5, 1, 7, 33), normal(4, 33, 11)),
    "matmul vector": standard("MatMul", normal(33), normal(33, 11)),
    "gemm": standard("Gemm", normal(33, 7), normal(11, 33), normal(11), transA=1, transB=1,
                     alpha=0.3, beta=1.7),
    "einsum": standard("Einsum", normal(3, 5, 7), normal(7, 3, 4), equation="bij,jbk->bik"),
    "conv": standard("Conv", IMAGE, normal(8, 6, 3, 3), normal(8), pads=[1, 0, 2, 1],
                     strides=[2, 1], dilations=[1, 2]),
    "conv 1x1": standard("Conv", IMAGE, normal(8, 6, 1, 1), strides=[2, 2]),
    "conv grouped": standard("Conv", IMAGE, normal(9, 2, 3, 3), group=3, pads=[1, 1, 1, 1]),
    "conv depthwise": standard("Conv", IMAGE, normal(12, 1, 3, 3), normal(12), group=6,
                               pads=[1, 1, 1, 1]),
    "conv same": standard("Conv", IMAGE, normal(8, 6, 4, 4), auto_pad="SAME_UPPER", strides=[2, 2]),
    "conv same lower": standard("Conv", IMAGE, normal(8, 6, 4, 4), auto_pad="SAME_LOWER"),
    "conv 1d": standard("Conv", normal(2, 4, 20), normal(5, 4, 5), dilations=[3]),
    "conv 3d": standard("Conv", normal(1, 2, 6, 7, 5), normal(3, 2, 3, 2, 3)),
    "transposed": standard("ConvTranspose", IMAGE, normal(6, 4, 3, 3), normal(4), strides=[2, 3],
                           pads=[1, 0, 1, 2], output_padding=[1, 2]),
    "transposed grouped": standard("ConvTranspose", IMAGE, normal(6, 2, 3, 2), group=2,
                                   dilations=[2, 1]),
    "transposed to shape": standard("ConvTranspose", IMAGE, normal(6, 2, 3, 3), strides=[2, 2],
                                    output_shape=[22, 18]),
    "average": standard("AveragePool", IMAGE, version=19, kernel_shape=[3, 2], strides=[2, 2],
                        pads=[1, 1, 1, 0]),
    "average counted": standard("AveragePool", IMAGE, version=19, kernel_shape=[3, 2],
                                pads=[1, 1, 1, 0], count_include_pad=1),
    "average up": standard("AveragePool", IMAGE, version=19, kernel_shape=[3, 3], strides=[3, 2],
                           ceil_mode=1),
    "max": standard("MaxPool", IMAGE, outputs=2, kernel_shape=[3, 2], strides=[2, 1],
                    pads=[1, 0, 1, 1], dilations=[1, 2]),
    "max up": standard("MaxPool", IMAGE, kernel_shape=[3, 3], strides=[3, 2], ceil_mode=1),
    "max column": standard("MaxPool", IMAGE, outputs=2, kernel_shape=[2, 2], storage_order=1),
    "lp": standard("LpPool", IMAGE, version=18, kernel_shape=[2, 2], p=3),
    "global average": standard("GlobalAveragePool", IMAGE),
    "global max": standard("GlobalMaxPool", IMAGE),
    "global lp": standard("GlobalLpPool", IMAGE),
    "batch norm": standard("BatchNormalization", IMAGE, positive(6), normal(6), normal(6),
                           positive(6), version=15),
    "instance norm": standard("InstanceNormalization", IMAGE, positive(6), normal(6)),
    "layer norm": standard("LayerNormalization", ROW, positive(40), normal(40), outputs=3),
    "group norm": standard("GroupNormalization", IMAGE, positive(6), normal(6), version=21,
                           num_groups=3),
    "lrn": standard("LRN", IMAGE, size=5, alpha=0.3, beta=0.6, bias=1.1),
    "lp norm": standard("LpNormalization", ROW, axis=1, p=2),
    "lp norm 1": standard("LpNormalization", ROW, axis=0, p=1),
    "mvn": standard("MeanVarianceNormalization", IMAGE),
    "softmax": standard("Softmax", normal(3, 40, scale=5), axis=1),
    "softmax old": standard("Softmax", normal(3, 4, 10), version=11, axis=1),
    "log softmax": standard("LogSoftmax", normal(3, 40, scale=5), axis=0),
    "hardmax": standard("Hardmax", ROW, axis=1),
    "reduce mean": standard("ReduceMean", IMAGE, axes=[1, 3], keepdims=0),
    "reduce sum": standard("ReduceSum", IMAGE, ints(-1, 0)),
    "reduce l1": standard("ReduceL1", IMAGE, axes=[2]),
    "reduce l2": standard("ReduceL2", IMAGE, axes=[2]),
    "reduce max": standard("ReduceMax", IMAGE, axes=[2]),
    "reduce log sum": standard("ReduceLogSum", positive(4, 9), axes=[1]),
    "reduce log sum exp": standard("ReduceLogSumExp", ROW, axes=[1]),
    "reduce square": standard("ReduceSumSquare", IMAGE, axes=[0, 2]),
    "reduce prod": standard("ReduceProd", positive(4, 9), axes=[1]),
    "cumsum": standard("CumSum", ROW, np.array(1), reverse=1, exclusive=1),
    "topk": standard("TopK", np.float32([[3, 1, 3, 2], [0, 5, 5, 5]]), ints(3), outputs=2),
    "argmax": standard("ArgMax", np.float32([[3, 1, 3], [5, 5, 5]]), axis=1, select_last_index=1),
    "resize linear": standard("Resize", IMAGE, None, np.float32([1, 1, 1.7, 0.6]), mode="linear"),
    "resize cubic": standard("Resize", IMAGE, None, None, ints(2, 6, 15, 20), mode="cubic"),
    "resize corners": standard("Resize", IMAGE, None, None, ints(2, 6, 15, 20), mode="linear",
                               coordinate_transformation_mode="align_corners"),
    "resize nearest": standard("Resize", IMAGE, None, np.float32([1, 1, 2.3, 0.7]), mode="nearest",
                               coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "resize tensorflow": standard("Resize", IMAGE, np.float32([]), np.float32([1, 1, 2.75, 0.7]),
                                  mode="nearest", nearest_mode="floor", version=11,
                                  coordinate_transformation_mode="tf_half_pixel_for_nn"),
    "gather": standard("Gather", IMAGE, ints(3, -1, 0), axis=2),
    "scatter nd": standard("ScatterND", ROW, np.array([[1], [0]]), normal(2, 40)),
    "pad": standard("Pad", IMAGE, ints(0, 0, 1, 2, 0, 0, 0, 3), mode="reflect"),
    "slice": standard("Slice", IMAGE, ints(9, -1), ints(-100, 2), ints(2, 3), ints(-2, -1)),
    "unique": standard("Unique", np.float32([3, 1, 1, 2, 3]), outputs=4, sorted=0),
    "rnn": standard("RNN", normal(5, 2, 4), normal(1, 6, 4), normal(1, 6, 6), normal(1, 12),
                    outputs=2, hidden_size=6, activations=["Tanh"]),
    "gru": standard("GRU", normal(5, 2, 4), normal(2, 18, 4), normal(2, 18, 6), normal(2, 36),
                    np.int32([5, 3]), outputs=2, hidden_size=6, direction="bidirectional"),
    "gru linear": standard("GRU", normal(5, 2, 4), normal(1, 18, 4), normal(1, 18, 6),
                           normal(1, 36), outputs=2, hidden_size=6, linear_before_reset=1),
    "lstm": standard("LSTM", normal(5, 2, 4), normal(2, 24, 4), normal(2, 24, 6), normal(2, 48),
                     np.int32([3, 5]), normal(2, 2, 6), normal(2, 2, 6), normal(2, 18),
                     outputs=3, hidden_size=6, direction="bidirectional"),
    "lstm reverse": standard("LSTM", normal(5, 2, 4), normal(1, 24, 4), normal(1, 24, 6),
                             outputs=3, hidden_size=6, direction="reverse", clip=0.7),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_within_the_noise(name):
    assert_same_within_rounding(CASES[name])


@pytest.mark.parametrize(
    "name", ["conv", "matmul", "softmax", "layer norm", "lstm", "gelu", "batch norm", "average"]
)
def test_in_float32_for_constants(name):
    """The same kernels keep the type they are given, for sub-graphs of constants."""
    node = CASES[name]
    for array in node.by_kernel(lift=False):
        assert array.dtype == np.float32


@pytest.mark.parametrize(
    "node",
    [
        standard("Conv", normal(0, 4, 6, 6), normal(6, 2, 3, 3), group=2),
        standard("Conv", normal(0, 4, 6), normal(6, 4, 1)),
        standard("ConvTranspose", normal(0, 4, 6, 6), normal(4, 3, 3, 3), group=2, strides=[2, 2]),
        standard("ConvTranspose", normal(0, 4, 6), normal(4, 3, 3), normal(3)),
        standard("Hardmax", normal(0, 5)),
        standard("Hardmax", normal(5, 0)),
        standard("MaxPool", normal(0, 4, 6, 6), kernel_shape=[2, 2]),
        standard("Softmax", normal(0, 5)),
    ],
    ids=lambda node: f"{node.op} {node.inputs[0].shape}",
)
def test_a_batch_may_be_empty(node):
    (ran,), (exact,), (drawn,) = (
        node.in_onnxruntime(), node.by_kernel(), node.by_kernel(rounding())
    )  # fmt: skip
    assert ran.shape == exact.shape == drawn.shape


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize(("length", "batch"), [(0, 2), (3, 0)])
def test_a_sequence_may_be_empty(op, length, batch):
    """ONNX Runtime ends the process at no steps, so the definition alone determines the result."""
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    start = normal(1, batch, 6)
    node = standard(
        op, np.zeros((length, batch, 4), np.float32), normal(1, 6 * gates, 4),
        normal(1, 6 * gates, 6), normal(1, 12 * gates), None, start, outputs=2, hidden_size=6,
        **({"activations": ["Tanh"]} if op == "RNN" else {}),
    )  # fmt: skip
    y, last = node.by_kernel()
    assert y.shape == (length, 1, batch, 6)
    np.testing.assert_array_equal(last, start)


@pytest.mark.parametrize("op", ["MatMul", "Add", "Exp", "Softmax", "ReduceMean"])
def test_in_float64_where_onnxruntime_has_it(op):
    inputs = [RANDOM.standard_normal((6, 6)) for _ in range(2 if op in ("MatMul", "Add") else 1)]
    node = standard(op, *inputs)
    (ran,), (exact,) = node.in_onnxruntime(), node.by_kernel()
    assert ran.dtype == exact.dtype == np.float64
    assert np.allclose(ran, exact, rtol=1e-13, atol=1e-14)

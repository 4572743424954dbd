"""TFLite's convolutions, products, pools, resizes and recurrent cells against LiteRT."""

import numpy as np
import pytest

from tflite_one_operator import OneOperator, T, assert_floats_agree, data, state, stored

RNG = np.random.default_rng(11)
SAME, VALID = 0, 1
RELU, TANH = 1, 4


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def conv(x, w, options="Conv2D", op="CONV_2D", **settings):
    channels = w[0] if op == "CONV_2D" else w[-1]
    inputs = [data(normal(*x)), stored(normal(*w)), stored(normal(channels))]
    return OneOperator(op, inputs, [T()], options, **{"strideW": 1, "strideH": 1, **settings})


def depthwise(x, w, **settings):
    times = w[-1] // x[-1]
    return conv(x, w, "DepthwiseConv2D", "DEPTHWISE_CONV_2D", depthMultiplier=times, **settings)


def deep(x, w, **settings):
    inputs = [data(normal(*x)), stored(normal(*w)), stored(normal(w[-1]))]
    steps = {"strideD": 1, "strideW": 1, "strideH": 1}
    return OneOperator("CONV_3D", inputs, [T()], "Conv3D", **{**steps, **settings})


def transposed(shape, w, x, bias=False, **settings):
    inputs = [stored(np.array(shape, np.int32)), stored(normal(*w)), data(normal(*x))]
    inputs += [stored(normal(w[0]))] if bias else []
    steps = {"strideW": 2, "strideH": 2, "version": 3 if bias else 1}
    return OneOperator("TRANSPOSE_CONV", inputs, [T()], "TransposeConv", **{**steps, **settings})


def dense(x, w, **settings):
    inputs = [data(normal(*x)), stored(normal(*w)), stored(normal(w[0]))]
    version = 5 if settings.get("keepNumDims") else 1
    return OneOperator("FULLY_CONNECTED", inputs, [T()], "FullyConnected", version, **settings)


def matmul(a, b, **settings):
    return OneOperator("BATCH_MATMUL", [data(normal(*a)), data(normal(*b))], [T()], "BatchMatMul",
                       2, **settings)  # fmt: skip


def pool(op, x=(2, 7, 6, 3), size=(3, 2), strides=(2, 1), padding=SAME, **settings):
    given = {"filterHeight": size[0], "filterWidth": size[1]}
    given |= {"strideH": strides[0], "strideW": strides[1], "padding": padding}
    return OneOperator(op, [data(normal(*x))], [T()], "Pool2D", **given, **settings)


def resize(op, size, x=(1, 5, 4, 2), align=False, half=False):
    word = "ResizeBilinear" if op == "RESIZE_BILINEAR" else "ResizeNearestNeighbor"
    inputs = [data(normal(*x)), stored(np.array(size, np.int32))]
    version = 3 if half or align else 1
    return OneOperator(op, inputs, [T()], word, version, alignCorners=align, halfPixelCenters=half)


def lstm(time=5, batch=2, features=3, hidden=4, *, peephole=False, cifg=False, projection=0,
         norm=False, major=False, **settings):  # fmt: skip
    out = projection or hidden
    gates = [None if cifg and k == 0 else stored(normal(hidden, features)) for k in range(4)]
    again = [None if cifg and k == 0 else stored(normal(hidden, out)) for k in range(4)]
    holes = [stored(normal(hidden)) if peephole and not (cifg and k == 0) else None
             for k in range(3)]  # fmt: skip
    biases = [None if cifg and k == 0 else stored(normal(hidden)) for k in range(4)]
    project = [stored(normal(out, hidden)), stored(normal(out))] if projection else [None, None]
    shape = (time, batch, features) if major else (batch, time, features)
    inputs = [data(normal(*shape)), *gates, *again, *holes, *biases, *project]
    inputs += [state((batch, out)), state((batch, hidden))]
    if norm:
        inputs += [None if cifg and k == 0 else stored(normal(hidden)) for k in range(4)]
    return OneOperator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [T()], "UnidirectionalSequenceLSTM",
        fusedActivationFunction=TANH, timeMajor=major, **settings,
    )  # fmt: skip


def both_ways(merge):
    def cell():
        weights = [stored(normal(4, 3)) for _ in range(4)] + [
            stored(normal(4, 4)) for _ in range(4)
        ]
        return [*weights, None, None, None, *(stored(normal(4)) for _ in range(4)), None, None]

    inputs = [data(normal(5, 2, 3)), *cell(), *cell(), *(state((2, 4)) for _ in range(4))]
    inputs += [None] * 9
    return OneOperator(
        "BIDIRECTIONAL_SEQUENCE_LSTM", inputs, [T()] if merge else [T(), T()],
        "BidirectionalSequenceLSTM", fusedActivationFunction=TANH, mergeOutputs=merge,
        timeMajor=True,
    )  # fmt: skip


def rnn(op="UNIDIRECTIONAL_SEQUENCE_RNN", shape=(2, 5, 3), options="SequenceRNN", **settings):
    inputs = [data(normal(*shape)), stored(normal(4, 3)), stored(normal(4, 4)), stored(normal(4))]
    inputs += [state((shape[1] if settings.get("timeMajor") else shape[0], 4))]
    return OneOperator(op, inputs, [T()], options, fusedActivationFunction=TANH, **settings)


def rnn_both_ways():
    def cell():
        return [stored(normal(4, 3)), stored(normal(4, 4)), stored(normal(4)), state((2, 4))]

    inputs = [data(normal(2, 5, 3)), *cell(), *cell(), None, None, None]
    return OneOperator("BIDIRECTIONAL_SEQUENCE_RNN", inputs, [T(), T()],
                       "BidirectionalSequenceRNN", fusedActivationFunction=TANH)  # fmt: skip


def svdf():
    inputs = [data(normal(2, 3)), stored(normal(8, 3)), stored(normal(8, 5)), stored(normal(4))]
    inputs += [state((2, 40))]
    return OneOperator("SVDF", inputs, [T()], "SVDF", rank=2, fusedActivationFunction=RELU)


def deep_transposed():
    inputs = [stored(np.array([1, 4, 6, 8, 3], np.int32)), stored(normal(2, 3, 2, 3, 2))]
    inputs += [data(normal(1, 2, 3, 4, 2))]
    return OneOperator("CONV_3D_TRANSPOSE", inputs, [T()], "Conv3D", strideD=2, strideW=2,
                       strideH=2)  # fmt: skip


def lstm_step():
    inputs = [data(normal(2, 3)), data(normal(2, 4)), stored(normal(16, 7)), stored(normal(16))]
    inputs += [data(normal(2, 4))]
    return OneOperator("LSTM", inputs, [T() for _ in range(4)], "LSTM", 2, kernelType=1,
                       fusedActivationFunction=TANH)  # fmt: skip


def lookup():
    keys = stored(np.array([1, 3, 20], np.int32))
    inputs = [data([3, 7, 20], "int32"), keys, stored(normal(3, 2))]
    return OneOperator("HASHTABLE_LOOKUP", inputs, [T(), T(dtype="uint8")])


CASES = {
    "conv same": lambda: conv((2, 6, 7, 3), (4, 3, 2, 3)),
    "conv valid strided": lambda: conv((1, 9, 8, 3), (5, 3, 3, 3), strideW=2, strideH=3,
                                       padding=VALID),
    "conv same strided": lambda: conv((1, 8, 9, 2), (3, 3, 4, 2), strideW=2, strideH=2),
    "conv dilated": lambda: conv((1, 9, 9, 2), (3, 3, 3, 2), dilationWFactor=2, dilationHFactor=3),
    "conv grouped": lambda: conv((1, 5, 5, 6), (4, 3, 3, 3)),
    "conv pointwise": lambda: conv((2, 5, 5, 6), (4, 1, 1, 6), strideW=2, strideH=2),
    "conv relu": lambda: conv((1, 6, 6, 3), (4, 3, 3, 3), fusedActivationFunction=RELU),
    "depthwise": lambda: depthwise((2, 6, 6, 4), (1, 3, 3, 4)),
    "depthwise multiplied": lambda: depthwise((1, 7, 6, 3), (1, 3, 2, 6), strideW=2, strideH=2),
    "depthwise dilated": lambda: depthwise((1, 9, 9, 2), (1, 3, 3, 2), padding=VALID,
                                           dilationWFactor=2, dilationHFactor=2),
    "conv 3d": lambda: deep((1, 4, 5, 6, 2), (3, 2, 3, 2, 4)),
    "conv 3d valid": lambda: deep((1, 6, 5, 6, 2), (3, 2, 3, 2, 4), padding=VALID, strideW=2),
    "transpose conv same": lambda: transposed((1, 8, 10, 3), (3, 3, 3, 2), (1, 4, 5, 2)),
    "transpose conv odd": lambda: transposed((1, 7, 9, 3), (3, 4, 3, 2), (1, 4, 5, 2)),
    "transpose conv valid": lambda: transposed((1, 9, 11, 3), (3, 3, 3, 2), (1, 4, 5, 2), True,
                                               padding=VALID),
    "transpose conv far": lambda: transposed((1, 8, 8, 2), (2, 1, 1, 2), (1, 4, 4, 2)),
    "conv 3d transpose": deep_transposed,
    "dense": lambda: dense((3, 7), (5, 7)),
    "dense folds": lambda: dense((2, 3, 7), (5, 7)),
    "dense keeps axes": lambda: dense((2, 3, 7), (5, 7), keepNumDims=True),
    "dense relu": lambda: dense((3, 7), (5, 7), fusedActivationFunction=RELU),
    "matmul": lambda: matmul((2, 3, 4), (2, 4, 5)),
    "matmul broadcast": lambda: matmul((2, 1, 3, 4), (3, 4, 5)),
    "matmul adjoint": lambda: matmul((2, 4, 3), (2, 5, 4), adjX=True, adjY=True),
    "embedding": lambda: OneOperator(
        "EMBEDDING_LOOKUP", [data([2, 0, 2], "int32"), stored(normal(4, 3))]
    ),
    "embedding of int8": lambda: OneOperator(
        "EMBEDDING_LOOKUP",
        [data([2, 0, 2], "int32"), stored(RNG.integers(-127, 127, (4, 3)), "int8", scale=0.01)],
    ),
    "look-up by key": lookup,
    "average pool": lambda: pool("AVERAGE_POOL_2D"),
    "average pool valid": lambda: pool("AVERAGE_POOL_2D", padding=VALID),
    "max pool": lambda: pool("MAX_POOL_2D"),
    "max pool relu": lambda: pool("MAX_POOL_2D", padding=VALID, fusedActivationFunction=RELU),
    "l2 pool": lambda: pool("L2_POOL_2D"),
    "bilinear": lambda: resize("RESIZE_BILINEAR", (8, 7)),
    "bilinear aligned": lambda: resize("RESIZE_BILINEAR", (8, 7), align=True),
    "bilinear half pixels": lambda: resize("RESIZE_BILINEAR", (3, 9), half=True),
    "nearest": lambda: resize("RESIZE_NEAREST_NEIGHBOR", (8, 3)),
    "nearest aligned": lambda: resize("RESIZE_NEAREST_NEIGHBOR", (9, 7), align=True),
    "nearest half pixels": lambda: resize("RESIZE_NEAREST_NEIGHBOR", (7, 11), half=True),
    "lstm": lstm,
    "lstm time major": lambda: lstm(major=True),
    "lstm peephole": lambda: lstm(peephole=True),
    "lstm coupled gates": lambda: lstm(cifg=True, peephole=True),
    "lstm projection": lambda: lstm(projection=3, projClip=0.4, cellClip=0.5),
    "lstm normalized": lambda: lstm(norm=True),
    "lstm both ways": lambda: both_ways(False),
    "lstm both ways merged": lambda: both_ways(True),
    "lstm basic step": lstm_step,
    "rnn": rnn,
    "rnn time major": lambda: rnn(shape=(5, 2, 3), timeMajor=True),
    "rnn step": lambda: rnn("RNN", (2, 3), "RNN"),
    "rnn both ways": rnn_both_ways,
    "svdf": svdf,
}  # fmt: skip

ONLY_OPTIMIZED = {"conv grouped"}


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_means_what_litert_computes(name):
    assert_floats_agree(CASES[name](), "builtin" if name in ONLY_OPTIMIZED else "reference")

"""TFLite's operators on shapes, slices and places against LiteRT: exact, whatever the type."""

import numpy as np
import pytest

from isomorph.core.trace import Noise
from tflite_one_operator import (
    OneOperator,
    T,
    assert_floats_agree,
    assert_quanta_agree,
    data,
    stored,
)

RNG = np.random.default_rng(13)
X = RNG.normal(size=(3, 4, 5)).astype(np.float32)
IMAGE = RNG.normal(size=(4, 4, 6, 8)).astype(np.float32)
SPECTRUM = (X[0] + 1j * X[1]).astype(np.complex64)
INT8 = {"scale": 0.1, "zero": 7}


def ints(*values):
    return stored(np.array(values, np.int32))


def one(op, *inputs, out=None, options=None, version=1, **settings):
    return OneOperator(op, inputs, out or [T()], options, version, **settings)


def sliced(begin, end, step, **masks):
    return one(
        "STRIDED_SLICE", data(X), ints(*begin), ints(*end), ints(*step), options="StridedSlice",
        version=5 if "offset" in masks else 1, **masks,
    )  # fmt: skip


CASES = {
    "reshape": lambda: one("RESHAPE", data(X), ints(6, -1), options="Reshape"),
    "reshape by option": lambda: one("RESHAPE", data(X), options="Reshape", newShape=[2, -1]),
    "squeeze": lambda: one("SQUEEZE", data(X[:1, :, :1]), options="Squeeze", squeezeDims=[0]),
    "squeeze all": lambda: one("SQUEEZE", data(X[:1, :, :1]), options="Squeeze"),
    "expand dims": lambda: one("EXPAND_DIMS", data(X), ints(-1), options="ExpandDims"),
    "transpose": lambda: one("TRANSPOSE", data(X), ints(2, 0, 1), options="Transpose"),
    "concatenation": lambda: one(
        "CONCATENATION", data(X), data(X[:, :2]), options="Concatenation", axis=1
    ),
    "pack": lambda: one("PACK", data(X), data(X[::-1]), options="Pack", valuesCount=2, axis=-1),
    "unpack": lambda: one("UNPACK", data(X), out=[T()] * 4, options="Unpack", num=4, axis=1),
    "split": lambda: one("SPLIT", ints(1), data(X), out=[T()] * 2, options="Split", numSplits=2),
    "split v": lambda: one(
        "SPLIT_V", data(X), ints(1, -1, 2), ints(2), out=[T()] * 3, options="SplitV", numSplits=3
    ),
    "tile": lambda: one("TILE", data(X), ints(2, 1, 3)),
    "broadcast to": lambda: one("BROADCAST_TO", data(X[:, :1]), ints(2, 3, 4, 5), version=2),
    "broadcast args": lambda: one(
        "BROADCAST_ARGS", data([3, 1], "int32"), data([2, 1, 4], "int32"), out=[T(dtype="int32")]
    ),
    "pad": lambda: one("PAD", data(X), ints([1, 0], [0, 2], [3, 1]), options="Pad"),
    "pad v2": lambda: one(
        "PADV2", data(X), ints([1, 0], [0, 2], [3, 1]), stored(np.float32([2.5])), options="PadV2"
    ),
    "mirror pad": lambda: one("MIRROR_PAD", data(X), ints([1, 0], [0, 2], [3, 1]),
                              options="MirrorPad"),
    "mirror pad symmetric": lambda: one("MIRROR_PAD", data(X), ints([1, 0], [0, 2], [3, 1]),
                                        options="MirrorPad", mode=1),
    "reverse": lambda: one("REVERSE_V2", data(X), ints(1)),
    "reverse sequence": lambda: one(
        "REVERSE_SEQUENCE", data(X), ints(2, 4, 1), options="ReverseSequence", seqDim=1, batchDim=0
    ),
    "space to depth": lambda: one("SPACE_TO_DEPTH", data(IMAGE), options="SpaceToDepth",
                                  blockSize=2),
    "depth to space": lambda: one("DEPTH_TO_SPACE", data(IMAGE), options="DepthToSpace",
                                  blockSize=2),
    "space to batch": lambda: one("SPACE_TO_BATCH_ND", data(IMAGE), ints(2, 3),
                                  ints([1, 1], [0, 3])),
    "batch to space": lambda: one("BATCH_TO_SPACE_ND", data(IMAGE), ints(2, 2),
                                  ints([1, 0], [0, 2])),
    "slice": lambda: one("SLICE", data(X), ints(1, 0, 2), ints(2, -1, 2)),
    "strided slice": lambda: sliced((0, 1, 4), (3, 4, 0), (2, 1, -2)),
    "strided slice negative": lambda: sliced((-2, 0, -1), (3, -1, -4), (1, 1, -1)),
    "strided slice open": lambda: sliced((1, 2, 3), (2, 3, 4), (1, 1, -1), beginMask=5, endMask=4),
    "strided slice shrinks": lambda: sliced((1, -1, 0), (2, 0, 5), (1, 1, 1), shrinkAxisMask=3),
    "strided slice ellipsis": lambda: sliced((0, 1), (0, 2), (1, 1), ellipsisMask=1,
                                             shrinkAxisMask=2),
    "strided slice new axis": lambda: sliced((0, 0, 1), (0, 3, 3), (1, 1, 1), newAxisMask=1),
    "gather": lambda: one("GATHER", data(X), ints([3, 0], [1, 1]), options="Gather", axis=1),
    "gather batched": lambda: one("GATHER", data(X), ints([3, 0], [1, 1], [2, 3]),
                                  options="Gather", axis=1, batchDims=1, version=5),
    "gather nd": lambda: one("GATHER_ND", data(X), ints([2, 1], [0, 3])),
    "scatter nd": lambda: one("SCATTER_ND", ints([1], [3], [1]), data(X[:, 0]), ints(4, 5)),
    "sparse to dense": lambda: one(
        "SPARSE_TO_DENSE", ints([0, 1], [2, 0]), ints(3, 2), data([4.0, 5.0]),
        stored(np.float32(-1.0)),
    ),
    "update slice": lambda: one("DYNAMIC_UPDATE_SLICE", data(X), data(X[:2, :2, :2] + 9),
                                data([1, 3, 0], "int32")),
    "matrix diag": lambda: one("MATRIX_DIAG", data(X)),
    "matrix set diag": lambda: one("MATRIX_SET_DIAG", data(X), data(X[:, :, 0])),
    "one hot": lambda: one(
        "ONE_HOT", data([[0, 2], [-1, 5]], "int32"), stored(np.int32(4)),
        stored(np.float32(3.0)), stored(np.float32(-1.0)), options="OneHot", axis=1,
    ),
    "unique": lambda: one("UNIQUE", data([5, 3, 5, 1, 3], "int32"),
                          out=[T(dtype="int32"), T(dtype="int32")], options="Unique"),
    "shape": lambda: one("SHAPE", data(X), out=[T(dtype="int64")], options="Shape", outType=4),
    "rank": lambda: one("RANK", data(X), out=[T(dtype="int32")]),
    "fill": lambda: one("FILL", ints(2, 3), data(np.float32(2.5))),
    "zeros like": lambda: one("ZEROS_LIKE", data(X)),
    "range": lambda: one("RANGE", data(np.float32(0.0)), data(np.float32(1.0)),
                         data(np.float32(0.1))),
    "range down": lambda: one("RANGE", data(9, "int32"), data(-2, "int32"), data(-3, "int32"),
                              out=[T(dtype="int32")]),
    "real part": lambda: one("REAL", data(SPECTRUM, "complex64")),
    "imaginary part": lambda: one("IMAG", data(SPECTRUM, "complex64")),
    "modulus": lambda: one("COMPLEX_ABS", data(SPECTRUM, "complex64")),
    "float16 weights": lambda: one("DEQUANTIZE", data(X, "float16"), version=3),
}  # fmt: skip

ONLY_OPTIMIZED = {"broadcast args", "update slice", "unique", "sparse to dense", "matrix diag",
                  "matrix set diag", "scatter nd", "zeros like"}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_means_what_litert_computes(name):
    assert_floats_agree(CASES[name](), "builtin" if name in ONLY_OPTIMIZED else "reference")


QUANTIZED = {
    "reshape": lambda x: one("RESHAPE", x, ints(6, -1), out=[T(dtype="int8", **INT8)]),
    "transpose": lambda x: one("TRANSPOSE", x, ints(2, 0, 1), out=[T(dtype="int8", **INT8)]),
    "pad": lambda x: one("PAD", x, ints([1, 0], [0, 2], [3, 1]), out=[T(dtype="int8", **INT8)],
                         version=2),
    "concatenation": lambda x: one("CONCATENATION", x, x, out=[T(dtype="int8", **INT8)],
                                   options="Concatenation", axis=1, version=2),
    "gather": lambda x: one("GATHER", x, ints(2, 0), out=[T(dtype="int8", **INT8)],
                            options="Gather", axis=0, version=2),
    "strided slice": lambda x: one("STRIDED_SLICE", x, ints(0, 1, 4), ints(3, 4, 0), ints(2, 1, -2),
                                   out=[T(dtype="int8", **INT8)], options="StridedSlice",
                                   version=2),
}  # fmt: skip


@pytest.mark.parametrize("name", QUANTIZED)
def test_moved_integers_stay_what_they_are(name):
    x = data(RNG.integers(-128, 128, (3, 4, 5)), "int8", **INT8)
    assert_quanta_agree(QUANTIZED[name](x), quanta=0)


def test_the_fourier_transform_lies_within_its_noise():
    case = one(
        "RFFT2D",
        data(RNG.normal(size=(2, 8, 16))),
        ints(8, 16),
        out=[T(dtype="complex64")],
    )
    (actual,), (wanted,) = case.in_litert(), case.in_oracle()
    assert wanted.dtype == np.complex128
    noisy = [case.in_oracle(Noise(seed=k, rounding=True))[0] for k in range(8)]
    spread = np.sqrt(np.mean(np.abs(np.array(noisy) - wanted) ** 2))
    assert 0 < np.max(np.abs(actual - wanted)) < 8 * spread < 1e-4

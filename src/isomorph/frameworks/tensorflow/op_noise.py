"""How much an operator rounds that TensorFlow computes itself, and how it is computed then.

Sums of products are disturbed by their length and the sizes of their terms, elementwise
operators by the largest intermediate of the textbook formula. What only moves data is left
alone. An operator nobody described is disturbed at its inputs and its outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from isomorph.core.ops import MOVES_DATA
from isomorph.frameworks.tensorflow.eval_native import absolute, execute
from isomorph.frameworks.tensorflow.op_names import neutral_name
from isomorph.frameworks.tensorflow.oracle_ops import find
from isomorph.kernels.matmul import summed_length
from isomorph.oracle.call import Call, Kernel
from isomorph.oracle.dtypes import HALVES
from isomorph.oracle.noise import Array, unit_roundoff
from isomorph.oracle.rounding_rules import arithmetic_unit, complex_noise, is_real, own_noise


@cache
def computed_by(op: str) -> Kernel:
    """The function that computes this operator in float64, with its noise."""
    ours = find(op)
    if ours is not None:
        return _as_tuple(ours)
    if op in LENGTHS:
        return summed
    if op in SIZES:
        return sized
    if op in TRANSFORMS:
        return transformed
    return moved if rounds_nothing(op) else unknown


def rounds_nothing(op: str) -> bool:
    """Whether the operator selects, moves or compares, and therefore never rounds."""
    if op in LENGTHS or op in SIZES:
        return False
    return op in EXACT or neutral_name(op) in MOVES_DATA


def _as_tuple(kernel: Kernel) -> Kernel:
    def compute(call: Call, *arrays: Any) -> tuple[Any, ...]:  # noqa: ANN401
        results = kernel(call, *arrays)
        return results if isinstance(results, tuple) else (results,)

    return compute


def moved(call: Call, *arrays: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """TensorFlow's own result, in float64 and as it is."""
    return execute(call.op, call.attributes, arrays, call.outputs, wide=True)


def moved_as_declared(call: Call, *arrays: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """TensorFlow's own result in the declared types."""
    plain = COUNTED.get(call.op)
    if plain is not None and all(_is_counter(array) for array in arrays):
        return (np.asarray(plain(*arrays)),)
    filled = FILLED.get(call.op)
    if filled is not None and arrays[0].dtype.kind in "fiu":
        return (filled(arrays[0]),)
    return execute(call.op, call.attributes, arrays, call.outputs, wide=False)


def _is_counter(array: Any) -> bool:  # noqa: ANN401
    return isinstance(array, np.ndarray) and array.dtype in _COUNTERS


_COUNTERS = (np.dtype(np.int32), np.dtype(np.int64))
COUNTED: dict[str, Callable[..., Any]] = {
    "AddV2": np.add, "Add": np.add, "Sub": np.subtract, "Less": np.less, "LessEqual": np.less_equal,
    "Greater": np.greater, "GreaterEqual": np.greater_equal,
}  # fmt: skip
"""What NumPy computes of counters as TensorFlow does, in a tenth of the time: loops count."""
FILLED: dict[str, Callable[[Array], Array]] = {"OnesLike": np.ones_like, "ZerosLike": np.zeros_like}
"""The same of what reads nothing but a size and a type."""


def unknown(call: Call, *arrays: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """One rounding of each input, one of each output."""
    if not call.noise.active:
        return moved(call, *arrays)
    results = moved(call, *(own_noise(array, call.noise) for array in arrays))
    return tuple(own_noise(result, call.noise) for result in results)


def summed(call: Call, *arrays: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """Sums of products; the same operator on absolute values gives the size of their terms."""
    results = moved(call, *arrays)
    first = np.asarray(results[0])
    if not call.noise.active or not is_real(first):
        return results

    def magnitude() -> Array:
        return np.asarray(moved(call, *(absolute(array) for array in arrays))[0])

    length = LENGTHS[call.op](call, arrays, first)
    return (call.noise.reduced(first, magnitude, length), *results[1:])


def sized(call: Call, *arrays: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """Element by element, rounded at the largest intermediate."""
    results = moved(call, *arrays)
    y = np.asarray(results[0])
    if not call.noise.active or not is_real(y):
        return results
    with np.errstate(all="ignore"):
        return (call.noise.rounded(y, SIZES[call.op](arrays, y)), *results[1:])


def transformed(call: Call, *arrays: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """A Fourier transform: √log₂(n) roundings of the root of the summed squares."""
    y = np.asarray(moved(call, *arrays)[0])
    if not call.noise.active:
        return (y,)
    axes = tuple(range(-TRANSFORMS[call.op], 0))
    x = np.asarray(arrays[0])
    n = math.prod(x.shape[axis] for axis in axes)
    energy = np.sqrt(np.sum(np.abs(x) ** 2, axis=axes, keepdims=True))
    if call.op.startswith("I"):
        energy = energy * (math.sqrt(2.0) / max(math.prod(y.shape[axis] for axis in axes), 1))
    size = np.broadcast_to(energy * math.sqrt(max(math.log2(max(n, 2)), 1.0)), y.shape)
    if y.dtype.kind == "c":
        return (complex_noise(y, size, call.noise),)
    return (call.noise.rounded(y, size),)


_OWN_STEPS = frozenset(
    {"Sigmoid", "Softplus", "Elu", "Selu", "LeakyRelu", "Softsign", "SquaredDifference", "Softmax",
     "LogSoftmax", "LRN", "Cumsum", "Cumprod", "AddN", "L2Loss", "Einsum", "AvgPool", "AvgPool3D",
     "DepthwiseConv2dNative", "Conv2DBackpropInput", "Conv3D", "Conv3DBackpropInputV2",
     "SegmentSum", "SegmentMean", "UnsortedSegmentSum", "ScatterNd", "TensorScatterAdd",
     "TensorScatterSub"}
)  # fmt: skip
_OWN_SUMS = frozenset(
    {"Sum", "Mean", "Prod", "EuclideanNorm", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}
)
_TRUNCATED = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"})


def arithmetic_unit_of(op: str, dtype: str | None) -> float:
    """The unit roundoff of a node's inner steps.

    Which kernel TensorFlow takes for halves depends on the CPU, and the coarsest of them counts.
    Measured: planar convolutions and products of two matrices accumulate in float32 everywhere;
    without AVX-512 these other operators round to the half itself after every step, and float16
    is also added up so.
    """
    if dtype in HALVES and (op in _OWN_STEPS or (dtype == "float16" and op in _OWN_SUMS)):
        return unit_roundoff(dtype)
    return arithmetic_unit(dtype)


def storage_steps(op: str, dtype: str | None) -> float:
    """How many units roundoff the result of a node may be off once it is stored as a half.

    Without AVX-512 the products of bfloat16 matrices are cut off and not rounded.
    """
    return 2.0 if dtype == "bfloat16" and op in _TRUNCATED else 1.0


Length = Callable[[Call, Any, Array], int]


def _window(call: Call, arrays: Any, y: Array) -> int:  # noqa: ANN401
    return int(math.prod(arrays[1].shape[:-1]))


def _depthwise(call: Call, arrays: Any, y: Array) -> int:  # noqa: ANN401
    return int(math.prod(arrays[1].shape[:2]))


def _spread_window(call: Call, arrays: Any, y: Array) -> int:  # noqa: ANN401
    spatial = arrays[1].shape[:-2]
    first = 1 if str(call.attributes.get("data_format", "NHWC")).endswith("C") else 2
    strides = call.attributes["strides"][first : first + len(spatial)]
    overlap = math.prod(-(-k // s) for k, s in zip(spatial, strides, strict=True))
    return int(arrays[1].shape[-1] * overlap)


def _ratio(call: Call, arrays: Any, y: Array) -> int:  # noqa: ANN401
    first = next(array for array in arrays if is_real(array))
    return max(1, int(first.size) // max(y.size, 1))


def _running(call: Call, arrays: Any, y: Array) -> int:  # noqa: ANN401
    return max(1, math.ceil(y.shape[int(arrays[1])] / 2)) if y.ndim else 1


def _pool(call: Call, arrays: Any, y: Array) -> int:  # noqa: ANN401
    return int(math.prod(call.attributes["ksize"]))


def _equation(call: Call, arrays: Any, y: Array) -> int:  # noqa: ANN401
    equation = str(call.attributes["equation"]).replace(" ", "")
    return summed_length(equation, tuple(arrays))


LENGTHS: dict[str, Length] = {
    "Conv2D": _window, "Conv3D": _window, "Conv": _window, "DepthwiseConv2dNative": _depthwise,
    "Conv2DBackpropInput": _spread_window, "Conv3DBackpropInputV2": _spread_window,
    "Einsum": _equation, "XlaEinsum": _equation, "Sum": _ratio, "Mean": _ratio,
    "EuclideanNorm": _ratio, "AvgPool": _pool, "Cumsum": _running, "SegmentSum": _ratio,
    "SegmentMean": _ratio, "UnsortedSegmentSum": _ratio, "SparseTensorDenseMatMul": _ratio,
    "TensorScatterAdd": _ratio, "TensorScatterSub": _ratio, "ScatterNd": _ratio, "L2Loss": _ratio,
}  # fmt: skip
"""Everything that adds up many terms, and how many."""


def _own(arrays: Any, y: Array) -> Array:  # noqa: ANN401
    return np.abs(y)


def _twice(arrays: Any, y: Array) -> Array:  # noqa: ANN401
    return 2.0 * np.abs(y)


def _once(arrays: Any, y: Array) -> None:  # noqa: ANN401
    """A single operation of the hardware, rounded at its result."""


def _one(arrays: Any, y: Array) -> float:  # noqa: ANN401
    return 1.0


def _at_least_one(arrays: Any, y: Array) -> Array:  # noqa: ANN401
    return np.maximum(np.abs(y), 1.0)


def _product(arrays: Any, y: Array) -> Array:  # noqa: ANN401
    return np.asarray(math.sqrt(max(1.0, np.size(arrays[0]) / max(y.size, 1))) * np.abs(y))


SIZES: dict[str, Callable[[Any, Array], Any]] = {
    "Square": _once, "DivNoNan": _once, "MulNoNan": _once, "Xdivy": _once,
    "SquaredDifference": _twice, "Rsqrt": _twice, "Expm1": _twice, "Log1p": _twice,
    "Xlogy": _twice, "Xlog1py": _twice, "ComplexAbs": _twice, "Prod": _product,
    "Cumprod": _product, "Erfc": _one, "Erfinv": _at_least_one, "Ndtri": _at_least_one,
    "Lgamma": _at_least_one, "Digamma": _at_least_one, "Atan2": _at_least_one,
    "Angle": _at_least_one, "NextAfter": _own, "LinSpace": _twice, "Range": _once,
}  # fmt: skip
"""Elementwise operators, and the largest intermediate of each."""

TRANSFORMS = {"FFT": 1, "FFT2D": 2, "FFT3D": 3, "IFFT": 1, "IFFT2D": 2, "IFFT3D": 3,
              "RFFT": 1, "RFFT2D": 2, "RFFT3D": 3, "IRFFT": 1, "IRFFT2D": 2,
              "IRFFT3D": 3}  # fmt: skip
"""Fourier transforms, and over how many of the last axes."""

_EXACT_WORDS = """
    Cast Bitcast OneHot ReverseSequence MatrixDiag MatrixDiagV2 MatrixDiagV3 MatrixDiagPart
    MatrixDiagPartV2 MatrixDiagPartV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 Diag DiagPart
    SpaceToBatchND BatchToSpaceND SpaceToBatch BatchToSpace ExtractImagePatches
    ExtractVolumePatches ResizeNearestNeighbor Roll DynamicStitch DynamicPartition
    ParallelDynamicStitch Complex Real Imag Conj ConjugateTranspose InvertPermutation Unique
    UniqueV2 UniqueWithCounts Where Equal NotEqual ApproximateEqual Less LessEqual Greater
    GreaterEqual LogicalAnd LogicalOr LogicalNot LogicalXor IsNan IsInf IsFinite FloorDiv FloorMod
    Mod TruncateDiv TruncateMod Bucketize SearchSorted LowerBound UpperBound InTopK InTopKV2
    NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 Empty Fill
    ZerosLike OnesLike TensorScatterUpdate TensorScatterMax TensorScatterMin SegmentMax SegmentMin
    UnsortedSegmentMax UnsortedSegmentMin StridedSlice Snapshot DeepCopy
    BroadcastGradientArgs Switch Merge EnsureShape SparseToDense
"""
EXACT = frozenset(_EXACT_WORDS.split())
"""Selects, moves or compares, beyond the operators that the neutral vocabulary lists."""

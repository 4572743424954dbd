"""TFLite's reductions, normalizations and searches along axes."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.data_movement import integers
from isomorph.kernels.reductions import total
from isomorph.kernels.registry import kernel, standard
from isomorph.kernels.softmax import log_softmax, softmax
from isomorph.kernels.tflite.activations import TFLITE, fused
from isomorph.kernels.tflite.convolution import channels_first, channels_last
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

_REDUCTIONS = {
    "SUM": "ReduceSum",
    "MEAN": "ReduceMean",
    "REDUCE_PROD": "ReduceProd",
    "REDUCE_MAX": "ReduceMax",
    "REDUCE_MIN": "ReduceMin",
    "REDUCE_ANY": "ReduceMax",
    "REDUCE_ALL": "ReduceMin",
}


@kernel(*_REDUCTIONS, domain=TFLITE)
def reduce(call: Call, x: Array, axes: Array) -> Array:
    """Over the given axes; over none of them nothing happens."""
    y = standard(
        call,
        _REDUCTIONS[call.op],
        x,
        np.asarray(axes).reshape(-1),
        version=18,
        keepdims=int(bool(call.attributes.get("keep_dims", False))),
        noop_with_empty_axes=1,
    )
    return np.asarray(y)


@kernel("SOFTMAX", domain=TFLITE)
def softmax_kernel(call: Call, x: Array) -> Array:
    """Along the last axis, of x times beta."""
    beta = call.attributes.get("beta", 1.0)
    scaled = x if beta == 1.0 else call.noise.rounded(np.asarray(x * beta, dtype=x.dtype))
    return softmax(scaled, x.ndim - 1, call.noise)


@kernel("LOG_SOFTMAX", domain=TFLITE)
def log_softmax_kernel(call: Call, x: Array) -> Array:
    """Along the last axis."""
    return log_softmax(x, x.ndim - 1, call.noise)


@kernel("L2_NORMALIZATION", domain=TFLITE)
def l2_normalization(call: Call, x: Array) -> Array:
    """Divided by its 2-norm along the last axis, or by 1e-3 where that is larger."""
    squares = total(x * x, (x.ndim - 1,), call.noise)
    # The kernels hold the square of it, as a float32.
    norm = np.sqrt(np.maximum(squares, squares.dtype.type(np.float32(1e-6))))
    norm = call.noise.rounded(norm)
    return fused(call, call.noise.rounded(np.asarray(x / norm)))


@kernel("LOCAL_RESPONSE_NORMALIZATION", domain=TFLITE)
def local_response(call: Call, x: Array) -> Array:
    """Divided by a power of the squares summed over ``radius`` channels on either side."""
    size = 2 * int(call.attributes["radius"]) + 1
    y = standard(
        call,
        "LRN",
        channels_first(x),
        version=13,
        size=size,
        alpha=float(call.attributes["alpha"]) * size,
        beta=float(call.attributes["beta"]),
        bias=float(call.attributes["bias"]),
    )
    return channels_last(np.asarray(y))


@kernel("CUMSUM", domain=TFLITE)
def running_sum(call: Call, x: Array, axis: Array) -> Array:
    """Forwards or backwards, with or without the element's own value."""
    stated = {key: int(bool(call.attributes.get(key))) for key in ("exclusive", "reverse")}
    return np.asarray(standard(call, "CumSum", x, axis, version=14, **stated))


@kernel("ARG_MAX", "ARG_MIN", domain=TFLITE)
def position_of_extreme(call: Call, x: Array, axis: Array) -> Array:
    """Where the largest or smallest stands; of equals the first."""
    op = "ArgMax" if call.op == "ARG_MAX" else "ArgMin"
    found = standard(call, op, x, version=13, axis=integers(axis)[0], keepdims=0)
    return np.asarray(found)


@kernel("TOPK_V2", domain=TFLITE)
def top_k(call: Call, x: Array, k: Array) -> tuple[Array, Array]:
    """The largest along the last axis with their positions; of equals the first."""
    values, places = standard(call, "TopK", x, k, version=11, outputs=2, axis=-1, largest=1)
    return values, places


@kernel("SEGMENT_SUM", domain=TFLITE)
def segment_sum(call: Call, x: Array, ids: Array) -> Array:
    """Rows with the same number added together."""
    groups = int(ids.max()) + 1 if ids.size else 0
    y = np.zeros((groups, *x.shape[1:]), x.dtype)
    np.add.at(y, np.asarray(ids, np.int64), x)
    sizes = np.zeros_like(y)
    if call.noise.active:
        np.add.at(sizes, np.asarray(ids, np.int64), np.abs(x))
    return call.noise.reduced(y, lambda: sizes, -(-x.shape[0] // max(groups, 1)))


@kernel("BUCKETIZE", domain=TFLITE)
def bucket(call: Call, x: Array) -> Array:
    """How many boundaries are not above each element."""
    edges = np.asarray(call.attributes["boundaries"], np.float64)
    return np.asarray(np.searchsorted(edges, x, side="right"), np.int32)

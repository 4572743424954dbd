"""ONNX Runtime's fused matrix products, and its product with weights of a few bits."""

from __future__ import annotations

import numpy as np

from isomorph.kernels.ort.activations import activation_by_name
from isomorph.kernels.quantized import ideal_rounding, symmetric_rounding, unpacked
from isomorph.kernels.registry import kernel, standard
from isomorph.oracle.call import Call
from isomorph.oracle.noise import Array

MICROSOFT = "com.microsoft"


@kernel("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(call: Call, a: Array, b: Array) -> Array:
    """alpha·A·B, with the last two axes or the batch axes of either transposed."""
    left, right = (_arranged(call, operand, side) for operand, side in ((a, "A"), (b, "B")))
    product = standard(call, "MatMul", left, right, version=13)
    alpha = float(call.attributes.get("alpha", 1.0))
    return np.asarray(product if alpha == 1.0 else call.noise.rounded(product * alpha))


@kernel("FusedMatMulActivation", domain=MICROSOFT)
def fused_matmul_activation(call: Call, a: Array, b: Array) -> Array:
    """The same behind an activation."""
    return activation_by_name(call, fused_matmul(call, a, b))


@kernel("FusedGemm", domain=MICROSOFT)
def fused_gemm(call: Call, a: Array, b: Array, c: Array | None = None) -> Array:
    """Gemm behind an activation."""
    given = call.attributes
    y = standard(
        call,
        "Gemm",
        a,
        b,
        c,
        version=13,
        alpha=float(given.get("alpha", 1.0)),
        beta=float(given.get("beta", 1.0)),
        transA=int(given.get("transA", 0)),
        transB=int(given.get("transB", 0)),
    )
    return activation_by_name(call, y)


@kernel("GemmFastGelu", domain=MICROSOFT)
def gemm_fast_gelu(call: Call, x: Array, w: Array, bias: Array | None = None) -> Array:
    """The tanh form of GELU behind X·W + bias."""
    y = standard(call, "MatMul", x, w, version=13)
    if bias is not None:
        y = call.noise.rounded(y + bias)
    return np.asarray(standard(call, "Gelu", y, version=20, approximate="tanh"))


@kernel("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(  # noqa: PLR0917
    call: Call,
    a: Array,
    b: Array,
    scales: Array,
    zero_points: Array | None = None,
    groups: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """A times weights of 2 to 8 bits, packed in blocks along K.

    At accuracy level 4 the run time quantizes A to int8 in the same blocks; that is noise here,
    as for every quantizer that the graph does not show. It is symmetric about zero.
    """
    given = call.attributes
    bits, block = int(given.get("bits", 4)), int(given["block_size"])
    rows, inner = int(given["N"]), int(given["K"])
    sizes = bits, block, rows, inner
    weights = call.of_weights(lambda: _weights(call, b, scales, zero_points, groups, sizes))
    x = a
    if call.noise.run_time and int(given.get("accuracy_level", 0)) == 4:
        x = a + symmetric_rounding(a, "int8", -1, call, block=block)
    y = standard(call, "MatMul", x, weights.T.astype(a.dtype, copy=False), version=13)
    return np.asarray(y if bias is None else call.noise.rounded(y + bias))


def _arranged(call: Call, operand: Array, side: str) -> Array:
    if operand.ndim > 1 and call.attributes.get(f"transBatch{side}", 0):
        operand = np.moveaxis(operand, 0, -2)
    if operand.ndim > 1 and call.attributes.get(f"trans{side}", 0):
        operand = np.swapaxes(operand, -1, -2)
    return operand


def _weights(  # noqa: PLR0917
    call: Call,
    packed: Array,
    scales: Array,
    zero_points: Array | None,
    groups: Array | None,
    sizes: tuple[int, int, int, int],
) -> Array:
    """The (N, K) matrix of reals behind the packed bytes; real numbers in their place are these."""
    bits, block, rows, inner = sizes
    if packed.dtype.kind == "f":
        return packed.reshape(rows, inner)
    blocks = -(-inner // block)
    units = unpacked(packed.reshape(rows, -1), bits)[:, : blocks * block].astype(np.float64)
    steps = scales.reshape(rows, blocks).astype(np.float64)
    if zero_points is None:
        zeros = np.full((rows, blocks), 2.0 ** (bits - 1))
    elif zero_points.dtype == np.uint8:
        zeros = unpacked(zero_points.reshape(rows, -1), bits)[:, :blocks].astype(np.float64)
    else:
        zeros = zero_points.reshape(rows, blocks).astype(np.float64)
    if groups is None:
        weights = _blockwise(units, zeros, steps, block)[:, :inner]
    else:
        which, units = groups.astype(np.int64)[:inner], units[:, :inner]
        weights = np.asarray((units - zeros[:, which]) * steps[:, which])
    if call.noise.quantizers:
        weights = weights + ideal_rounding(weights, f"uint{bits}", 1, call, block=block)
    return weights


def _blockwise(units: Array, zeros: Array, steps: Array, block: int) -> Array:
    """(units − zeros)·steps, where each zero and step meets the units of one block of a row."""
    rows, blocks = steps.shape
    within = units.reshape(rows, blocks, block)
    weights = within - zeros[:, :, None]
    weights *= steps[:, :, None]
    return weights.reshape(rows, blocks * block)

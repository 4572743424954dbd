"""Matrix products: the sums that rounding knows best."""

from __future__ import annotations

import math

import numpy as np

from isomorph.kernels.blocked_products import matrix_product
from isomorph.kernels.registry import kernel
from isomorph.oracle.call import Call
from isomorph.oracle.exact_sums import Exact, at_most_one, sums_of
from isomorph.oracle.noise import Array, NoiseSource
from isomorph.oracle.stored_matrix import StoredMatrix


def product(a: Array, b: Array | StoredMatrix, noise: NoiseSource) -> Array:
    """``a @ b`` with the noise of its sums."""
    y = np.asarray(_matmul(a, b))

    def magnitude() -> Array:
        return _sizes(a, b)

    return noise.reduced(y, magnitude, a.shape[-1], _exact(a, b) if noise.active else None)


def _exact(a: Array, b: Array | StoredMatrix) -> Exact | None:
    """Where products of rows that are one-hot, or of coarse numbers, are not rounded."""
    single = at_most_one(a, -1) if a.ndim > 1 and b.ndim > 1 else None
    return sums_of(a, b.stored if isinstance(b, StoredMatrix) else b, single=single)


@kernel("MatMul")
def matmul(call: Call, a: Array, b: Array | StoredMatrix) -> Array:
    """NumPy's matmul, which ONNX follows."""
    right = b if isinstance(b, StoredMatrix) else np.asarray(b)
    return product(np.asarray(a), right, call.noise)


@kernel("Gemm")
def gemm(call: Call, a: Array, b: Array | StoredMatrix, c: Array | None = None) -> Array:
    """alpha·A′B′ + beta·C."""
    attributes = call.attributes
    if call.version < 7 and a.ndim > 2:
        a = a.reshape(a.shape[0], -1)
    left = a.T if attributes.get("transA") else a
    right = b.T if attributes.get("transB") else b
    alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    y = _matmul(left, right)
    integer = y.dtype.kind in "iu"
    if alpha != 1.0:
        y = y * y.dtype.type(alpha) if not integer else (y * alpha).astype(y.dtype)
    added = None
    if c is not None and beta != 0.0:
        added = c if beta == 1.0 else (c * beta).astype(c.dtype)
        y += added

    def magnitude() -> Array:
        total = abs(alpha) * _sizes(left, right)
        return np.asarray(total if added is None else total + np.abs(added))

    return call.noise.reduced(y, magnitude, left.shape[1])


@kernel("Einsum")
def einsum(call: Call, *operands: Array) -> Array:
    """Any product of any tensors, summed over any index."""
    equation = str(call.attributes["equation"]).replace(" ", "")
    y = np.asarray(np.einsum(equation, *operands, optimize=True))

    def magnitude() -> Array:
        sizes = [np.abs(operand) for operand in operands]
        return np.asarray(np.einsum(equation, *sizes, optimize=True))

    return call.noise.reduced(y, magnitude, summed_length(equation, operands))


def summed_length(equation: str, operands: tuple[Array, ...]) -> int:
    """How many products each element of an einsum's result is a sum of."""
    sizes: dict[str, int] = {}
    inputs, _, output = equation.partition("->")
    for term, operand in zip(inputs.split(","), operands, strict=True):
        letters = term.replace("...", "")
        if "..." not in term:
            sizes.update(zip(letters, operand.shape, strict=True))
        else:
            before, after = term.split("...")
            # The ellipsis stands for the axes that are left over.
            sizes.update(zip(before, operand.shape, strict=False))
            sizes.update(zip(after[::-1], operand.shape[::-1], strict=False))
    if "->" not in equation:
        letters = inputs.replace(",", "").replace(".", "")
        output = "".join(letter for letter in letters if letters.count(letter) == 1)
    length = 1
    for letter, size in sizes.items():
        length *= size if letter not in output else 1
    return length


def _sizes(a: Array, b: Array | StoredMatrix) -> Array:
    """The sizes of the terms that ``a @ b`` adds."""
    if isinstance(b, StoredMatrix):
        return b.product_sizes(a)
    return np.asarray(_matmul(np.abs(a), np.abs(b)))


def _matmul(a: Array, b: Array | StoredMatrix) -> Array:
    if isinstance(b, StoredMatrix):
        return b.product(a)
    if a.dtype.kind in "iu" or a.ndim < 2 or b.ndim != 2:
        return np.asarray(np.matmul(a, b))
    # One large product is several times quicker than a stack of small ones.
    flat = matrix_product(a.reshape(math.prod(a.shape[:-1]), a.shape[-1]), b)
    return flat.reshape(*a.shape[:-1], b.shape[-1])

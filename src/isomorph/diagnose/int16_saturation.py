"""Products of unsigned and signed bytes as a processor without VNNI computes them.

Its instruction multiplies neighbors along the sum and adds each two products in 16 bits, where
they stop at the ends: 255·127 + 255·127 becomes 32767. Weights of at most 7 bits never get there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.kernels.windows import padded, view, windows

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

Operands = tuple["Array | None", ...]

_INT16 = np.iinfo(np.int16)
_ROUNDINGS = 3
"""Of a real result: scales multiplied, the product with them, the bias added."""
_UNIT = float(np.finfo(np.float32).eps) / 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulation:
    """What a node gives exactly and with sums of pairs that stop at 16 bits.

    ``slack`` is how far a right kernel may stand from either: one step of a grid, nothing for
    sums that stay integers, the rounding of a float.
    """

    exact: Array = field(repr=False)
    saturated: Array = field(repr=False)
    slack: Array = field(repr=False)

    def explains(self, run: Array) -> bool:
        """Whether a run lands on the saturated result everywhere, and not on the exact one."""
        if run.shape != self.exact.shape:
            return False
        seen = run.astype(np.float64)
        lands = bool(np.all(np.abs(seen - self.saturated) <= self.slack))
        return lands and bool(np.any(np.abs(seen - self.exact) > self.slack))


def emulated(node: Node, read: Callable[[str], Array | None]) -> Emulation | None:
    """The node's result from the operands it had; None where it is no such product.

    Silent as well where no pair reaches the ends: then there is nothing to emulate.
    """
    product = _PRODUCTS.get(node.op)
    operands = tuple(read(name) if name else None for name in node.inputs)
    missing = any(
        name and operand is None for name, operand in zip(node.inputs, operands, strict=True)
    )
    if product is None or missing:
        return None
    return product((*operands, *(None,) * 10)[:10], node.attributes)


def lost(a: Array, b: Array) -> Array:
    """What saturation takes from rows of bytes ``a`` times columns of signed bytes ``b``."""
    rows, columns = a.astype(np.int32), b.astype(np.int32)
    if a.shape[1] % 2:
        rows = np.pad(rows, ((0, 0), (0, 1)))
        columns = np.pad(columns, ((0, 1), (0, 0)))
    gone = np.zeros((a.shape[0], b.shape[1]), np.int64)
    high, steep = rows.max(axis=0, initial=0), np.abs(columns).max(axis=1, initial=0)
    reach = (high * steep)[0::2] + (high * steep)[1::2]
    for pair in np.flatnonzero(reach > _INT16.max):
        k = 2 * int(pair)
        both = np.outer(rows[:, k], columns[k]) + np.outer(rows[:, k + 1], columns[k + 1])
        gone += np.clip(both, _INT16.min, _INT16.max) - both
    return gone


def _matmul_integer(given: Operands, _: Mapping[str, Any]) -> Emulation | None:
    a, b, a_zero, b_zero = given[:4]
    units = _units(a, b, a_zero, b_zero)
    return None if units is None else _as_integers(*units)


def _matmul_to_float(given: Operands, _: Mapping[str, Any]) -> Emulation | None:
    a, b, a_scale, b_scale, a_zero, b_zero, bias = given[:7]
    units = _units(a, b, a_zero, b_zero)
    return None if units is None else _as_reals(*units, _step(a_scale, b_scale), bias)


def _qlinear_matmul(given: Operands, _: Mapping[str, Any]) -> Emulation | None:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = given[:8]
    units = _units(a, b, a_zero, b_zero)
    return None if units is None else _on_grid(*units, _step(a_scale, b_scale), y_scale, y_zero)


def _qgemm(given: Operands, attributes: Mapping[str, Any]) -> Emulation | None:
    a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero = given[:9]
    a = a.T if a is not None and attributes.get("transA", 0) else a
    b = b.T if b is not None and attributes.get("transB", 0) else b
    units = _units(a, b, a_zero, b_zero)
    if units is None:
        return None
    exact = units[0] if c is None else units[0] + c.astype(np.float64)
    step = _step(a_scale, b_scale) * float(attributes.get("alpha", 1.0))
    if y_scale is None:
        return _as_reals(exact, units[1], step, None)
    return _on_grid(exact, units[1], step, y_scale, y_zero)


def _qlinear_conv(given: Operands, attributes: Mapping[str, Any]) -> Emulation | None:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias = given[:9]
    units = _conv_units(x, w, x_zero, w_zero, attributes)
    if units is None:
        return None
    exact = units[0] if bias is None else units[0] + bias.astype(np.float64)
    found = _on_grid(exact, units[1], _step(x_scale, w_scale), y_scale, y_zero)
    if found is None:
        return None
    turned = (np.moveaxis(each, -1, 1) for each in (found.exact, found.saturated))
    return Emulation(exact=next(turned), saturated=next(turned), slack=found.slack)


def _conv_units(
    x: Array | None,
    w: Array | None,
    x_zero: Array | None,
    w_zero: Array | None,
    attributes: Mapping[str, Any],
) -> tuple[Array, Array] | None:
    """The same for a convolution, with the channels of its result last."""
    if x is None or w is None or w.shape[1] == 1 or attributes.get("channels_last", 0):
        return None  # convolutions of single channels take kernels that sum in 32 bits
    rank, group = x.ndim - 2, int(attributes.get("group", 1))
    place = windows(attributes, x.shape[2:], w.shape[2:])
    seen = view(padded(x, place, float(np.ravel(_or_zero(x_zero))[0])), place)
    # Windows become rows, channels innermost: in this order neighbors meet.
    rows = np.moveaxis(seen, 1, -1).reshape(x.shape[0], *place.output, -1, x.shape[1])
    columns = np.moveaxis(w.reshape(w.shape[0], w.shape[1], -1), (0, 1), (2, 1))
    count, width = w.shape[0] // group, w.shape[1]
    parts = []
    for k in range(group):
        a = rows[..., k * width : (k + 1) * width].reshape(*rows.shape[: rank + 1], -1)
        chosen = slice(k * count, (k + 1) * count)
        b, zero = columns[..., chosen].reshape(-1, count), _or_zero(w_zero)
        parts.append(_units(a, b, x_zero, zero if zero.size == 1 else zero[chosen]))
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None
    exact = np.concatenate([each for each, _ in whole], axis=-1)
    return exact, np.concatenate([each for _, each in whole], axis=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Stored integers with their scale and zero point."""

    whole: Array = field(repr=False)
    scale: Array
    zero: Array | None


def taken_away(op: str, data: Grid, weight: Grid, attributes: Mapping[str, Any]) -> Array | None:
    """What saturation takes from a product of dequantized numbers that runs on their bytes.

    Of ``MatMul``, ``Gemm`` and ``Conv``; None where nothing is taken. A runtime moves signed data
    up by 128, since its instruction takes one factor unsigned.
    """
    shift = 128 if data.whole.dtype == np.int8 else 0
    a = (data.whole.astype(np.int16) + shift).astype(np.uint8)
    a_zero = _or_zero(data.zero) + shift
    if op == "Conv":
        units = _conv_units(a, weight.whole, a_zero, weight.zero, attributes)
    else:
        a = a.T if attributes.get("transA", 0) else a
        b = weight.whole.T if attributes.get("transB", 0) else weight.whole
        units = _units(a, b, a_zero, weight.zero)
    if units is None or not units[1].any():
        return None
    gone = units[1] * _step(data.scale, weight.scale) * float(attributes.get("alpha", 1.0))
    return np.moveaxis(gone, -1, 1) if op == "Conv" else np.asarray(gone)


_PRODUCTS: Mapping[str, Callable[[Operands, Mapping[str, Any]], Emulation | None]] = {
    "MatMulInteger": _matmul_integer,
    "MatMulIntegerToFloat": _matmul_to_float,
    "QLinearMatMul": _qlinear_matmul,
    "QGemm": _qgemm,
    "QLinearConv": _qlinear_conv,
}


def _units(
    a: Array | None, b: Array | None, a_zero: Array | None, b_zero: Array | None
) -> tuple[Array, Array] | None:
    """The exact sums of products, and what saturation takes; of bytes with signed bytes alone."""
    if a is None or b is None or b.ndim != 2 or a.dtype != np.uint8 or b.dtype != np.int8:
        return None
    of_rows = _or_zero(a_zero)
    of_rows = of_rows[:, None] if of_rows.size > 1 and of_rows.ndim == 1 else of_rows
    left, right = a.astype(np.float64) - of_rows, b.astype(np.float64) - _or_zero(b_zero)
    gone = lost(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[1])
    return left @ right, gone.astype(np.float64)


def _or_zero(zero: Array | None) -> Array:
    return np.zeros(()) if zero is None else np.asarray(zero).astype(np.float64)


def _step(left: Array | None, right: Array | None) -> Array:
    one, other = (np.asarray(each, dtype=np.float64) for each in (left, right))
    one = one[:, None] if one.size > 1 and one.ndim == 1 else one
    return np.asarray(one * other)


def _as_integers(exact: Array, gone: Array) -> Emulation | None:
    if not gone.any():
        return None
    return Emulation(exact=exact, saturated=exact + gone, slack=np.zeros(()))


def _as_reals(exact: Array, gone: Array, step: Array, bias: Array | None) -> Emulation | None:
    if not gone.any():
        return None
    more = _or_zero(bias)
    wide = (np.abs(exact) + np.abs(gone)) * np.abs(step) + np.abs(more)
    return Emulation(
        exact=exact * step + more,
        saturated=(exact + gone) * step + more,
        slack=4.0 * _ROUNDINGS * _UNIT * wide,
    )


def _on_grid(
    exact: Array, gone: Array, step: Array, scale: Array | None, zero: Array | None
) -> Emulation | None:
    if scale is None or zero is None or not gone.any():
        return None
    ends, factor = np.iinfo(zero.dtype), step / np.asarray(scale).astype(np.float64)

    def rounded(units: Array) -> Array:
        steps = np.rint(units * factor) + zero.astype(np.float64)
        return np.asarray(np.clip(steps, ends.min, ends.max))

    return Emulation(exact=rounded(exact), saturated=rounded(exact + gone), slack=np.ones(()))

"""Terms: what a tensor is, in a few primitive operations. Equal terms are one object.

Every primitive has a shape and a type when it is made, so shapes are those of the inputs that a
proof is about. A primitive that this module does not know cannot be spelled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isomorph.proof.function_terms import FunctionTerms
from isomorph.proof.sizes import broadcast_shapes, dense, one, same
from isomorph.proof.sunk_movement import Wanted, sunk
from isomorph.proof.term import NoMeaningError, Term


@dataclass(eq=False, slots=True)
class Terms(FunctionTerms):
    """All terms of both sides, with the arithmetic of real numbers."""

    def _sunk(self, wanted: Wanted) -> Term | None:
        return sunk(self, wanted)

    def add(self, a: Term, b: Term) -> Term:
        """The sum of floats, with the axes of both."""
        shape = self.common(a, b)
        a, b = self.unexpanded((a, b), shape)
        a, b = self._single(a, b), self._single(b, a)
        for x, other in ((a, b), (b, a)):
            if x.op == "constant" and not x.finite and other.finite:
                return self._masked(other, x, shape)
        if not (a.finite and b.finite):
            return self.function("add of infinite", (a, b), commutes=True)
        zero = next((x for x in (a, b) if x.op == "constant" and not x.value().any()), None)
        if zero is not None:
            return self.expand(b if zero is a else a, shape)
        for x, fixed in ((a, b), (b, a)):
            if fixed.static and not x.static and x.op == "add":
                rest, summand = self._parted(x)
                if summand is not None and same(rest.shape, shape):
                    return self.add(rest, self.add(summand, fixed))
        return self.make("add", self._sorted(a, b), shape, a.dtype)

    def _masked(self, x: Term, mask: Term, shape: tuple[int, ...]) -> Term:
        """A finite tensor plus constants of which some are infinite: those swallow its elements."""
        value = np.broadcast_to(np.asarray(mask.value(), np.float64), dense(shape))
        if np.isnan(value).any():
            raise NoMeaningError("a constant that is not a number")
        kept = np.isfinite(value)
        rest = self.constant(np.where(kept, value, 0.0), x.dtype)
        infinite = self.expand(self.constant(np.where(kept, np.inf, value), x.dtype), shape)
        summed = self.expand(self.add(x, rest), shape)
        if not np.where(kept, value, 0.0).any():
            summed = self.expand(x, shape)
        return self.select(kept, summed, infinite)

    def mul(self, a: Term, b: Term) -> Term:
        """The product of floats, with the axes of both."""
        shape = self.common(a, b)
        a, b = self.unexpanded((a, b), shape)
        a, b = self._single(a, b), self._single(b, a)
        if not (a.finite and b.finite):
            return self.function("mul of infinite", (a, b), commutes=True)
        unit = next((x for x in (a, b) if self._is(x, 1.0)), None)
        if unit is not None:
            return self.expand(b if unit is a else a, shape)
        for x, factor in ((a, b), (b, a)):
            if factor.static and not x.static and same(shape, x.shape):
                folded = self._folded(x, factor)
                if folded is not None:
                    return folded
        return self.make("mul", self._sorted(a, b), shape, a.dtype)

    def _folded(self, x: Term, factor: Term) -> Term | None:
        """A static factor behind a product with weights is a factor of the weights.

        Exact in real numbers. Conversions fold so; with both sides folded, they are equal terms.
        """
        if x.op == "add":
            rest, other = self._parted(x)
            if other is not None and same(rest.shape, x.shape):
                return self.add(self.mul(rest, factor), self.mul(other, factor))
        if x.op == "mul":
            rest, other = self._parted(x)
            if other is not None and same(rest.shape, x.shape):
                return self.mul(rest, self.mul(other, factor))
        if x.op == "reshape" and x.inputs[0].op == "matmul" and factor.rank < 2:
            inner = x.inputs[0]
            if same(inner.shape[-1:], x.shape[-1:]) and inner.inputs[1].static:
                return self.reshape(self.mul(inner, factor), x.shape)
        if x.op not in ("conv", "matmul") or self._is(factor, -1.0):
            return None
        place = 1 if x.op == "conv" else x.rank - 1
        sizes = (1,) * (x.rank - factor.rank) + factor.shape
        if any(not one(size) and axis != place for axis, size in enumerate(sizes)):
            return None
        data, weights = x.inputs
        if x.op == "conv":
            shaped = self.reshape(factor, (sizes[1], *(1,) * (weights.rank - 1)))
            return self.conv(data, self.mul(weights, shaped), *x.attrs)
        if not weights.static:
            return None
        return self.matmul(data, self.mul(weights, self.reshape(factor, (sizes[-1],))))

    def _parted(self, x: Term) -> tuple[Term, Term | None]:
        """The two operands of a sum or product of which one is static, that one last."""
        a, b = x.inputs
        if a.static == b.static:
            return a, None
        return (b, a) if a.static else (a, b)

    def scaled(self, x: Term, factor: float) -> Term:
        """A tensor times a number."""
        return self.mul(x, self.number(factor, x.dtype))

    def neg(self, x: Term) -> Term:
        """The negative of floats."""
        if x.op == "mul" and any(self._is(each, -1.0) for each in x.inputs):
            other = [each for each in x.inputs if not self._is(each, -1.0)]
            if len(other) == 1 and same(other[0].shape, x.shape):
                return self.known(other[0])
        return self.scaled(x, -1.0)

    def sub(self, a: Term, b: Term) -> Term:
        """The difference of floats."""
        return self.add(a, self.neg(b))

    def inverse(self, x: Term) -> Term:
        """One divided by floats; a function of which nothing else is known unless they are static.

        So ``x * y / y`` is not ``x``, which differs where ``y`` is zero.
        """
        self._real(x)
        if x.op == "constant" and x.finite and not np.all(x.value()):
            raise NoMeaningError("a division by a constant zero")
        self.require_one_mask((x,))
        finite = None if self._defined("inverse", (x,)) else False
        return self.make("inverse", (x,), x.shape, x.dtype, finite=finite)

    def div(self, a: Term, b: Term) -> Term:
        """The quotient of floats."""
        return self.mul(a, self.inverse(b))

    def sum(self, x: Term, axes: Sequence[int]) -> Term:
        """The sum over axes, which vanish."""
        self._real(x)
        axes = tuple(sorted({self.axis(x, axis) for axis in axes}))
        shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
        if not axes:
            return self.known(x)
        if not x.finite:
            return self.opaque("sum of infinite", (x,), shape, x.dtype, attrs=(axes,))
        if one(math.prod(x.shape[axis] for axis in axes)):
            return self.reshape(x, shape)
        return self.make("sum", (x,), shape, x.dtype, attrs=(axes,))

    def matmul(self, a: Term, b: Term) -> Term:
        """The product of matrices, stacked along the axes in front."""
        self._same_type(a, b)
        self._real(a)
        if min(a.rank, b.rank) < 2 or a.shape[-1] != b.shape[-2]:
            raise NoMeaningError("a product of matrices that do not fit")
        lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = (*lead, a.shape[-2], b.shape[-1])
        if not (a.finite and b.finite):
            return self.opaque("product of infinite", (a, b), shape, a.dtype)
        if a.rank > 2 == b.rank:
            # Converters flatten the axes in front; with both sides flat, they are equal terms.
            flat = self.reshape(a, (math.prod(a.shape[:-1]), a.shape[-1]))
            return self.reshape(self.matmul(flat, b), shape)
        return self.make("matmul", (a, b), shape, a.dtype)

    def conv(
        self, x: Term, w: Term, strides: Sequence[int], dilations: Sequence[int], groups: int
    ) -> Term:
        """A convolution [N, C, ..] with [O, C/groups, ..] without any border."""
        self._same_type(x, w)
        self._real(x)
        fits = x.rank == w.rank > 2 and groups > 0 and x.shape[1] == w.shape[1] * groups
        if not fits or w.shape[0] % groups:
            raise NoMeaningError("a convolution whose sizes do not fit")
        places = [
            (size - (k - 1) * d - 1) // s + 1
            for size, k, s, d in zip(x.shape[2:], w.shape[2:], strides, dilations, strict=True)
        ]
        if any(place < 1 for place in places) or min(*strides, *dilations) < 1:
            raise NoMeaningError("a convolution larger than its tensor")
        shape = (x.shape[0], w.shape[0], *places)
        attrs = (tuple(strides), tuple(dilations), groups)
        if not (x.finite and w.finite):
            return self.opaque("convolution of infinite", (x, w), shape, x.dtype, attrs=attrs)
        return self.make("conv", (x, w), shape, x.dtype, attrs=attrs)

    def maximum(self, a: Term, b: Term) -> Term:
        """The larger of two elements; equal in either order."""
        self._same_type(a, b)
        return self.known(a) if a is b else self.function("max", (a, b), commutes=True)

    def minimum(self, a: Term, b: Term) -> Term:
        """The smaller of two elements."""
        if a.is_float and a.finite and b.finite:
            return self.neg(self.maximum(self.neg(a), self.neg(b)))
        self._same_type(a, b)
        return self.known(a) if a is b else self.function("min", (a, b), commutes=True)

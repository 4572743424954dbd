"""Composite operators by their definitions, for every framework alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof.hidden_scores import with_hidden_scores
from isomorph.proof.sizes import broadcast_shapes, dense, is_size
from isomorph.proof.term import NoMeaningError, Term
from isomorph.proof.terms import Terms
from isomorph.proof.whole_numbers import below

if TYPE_CHECKING:
    from isomorph.proof.implied_numbers import ImpliedNumbers

_HOLDS = {
    "float16": {"float32", "float64"},
    "bfloat16": {"float32", "float64"},
    "float32": {"float64"},
    "int8": {"int16", "int32", "int64"},
    "uint8": {"int16", "uint16", "int32", "uint32", "int64", "uint64"},
    "int16": {"int32", "int64"},
    "uint16": {"int32", "uint32", "int64", "uint64"},
    "int32": {"int64"},
    "uint32": {"int64", "uint64"},
}
"""The types that hold every number of a type."""


def fits(dtype: str, wider: str) -> bool:
    """Whether a type holds all numbers of another one."""
    return wider == dtype or wider in _HOLDS.get(dtype, ())


def cast(t: Terms, x: Term, dtype: str) -> Term:
    """A tensor in another type: the same numbers if all fit, else an unknown function of them."""
    if fits(x.dtype, dtype):
        return t.retype(x, dtype)
    return t.function("cast", (x,), attrs=(x.dtype, dtype), dtype=dtype)


def unary(t: Terms, name: str, x: Term) -> Term:
    """An unknown function of float elements."""
    if not x.is_float:
        raise NoMeaningError(f"{name} of {x.dtype}")
    return t.function(name, (x,))


def keep(t: Terms, x: Term, reduced: Term, axes: Sequence[int], *, kept: bool) -> Term:
    """A reduction with its axes as axes of size 1, if they are kept."""
    places = {t.axis(x, axis) for axis in axes}
    if not kept:
        return reduced
    return t.reshape(reduced, [1 if at in places else n for at, n in enumerate(x.shape)])


def total(t: Terms, x: Term, axes: Sequence[int], *, kept: bool) -> Term:
    """The sum over axes."""
    return keep(t, x, t.sum(x, axes), axes, kept=kept)


def mean(t: Terms, x: Term, axes: Sequence[int], *, kept: bool) -> Term:
    """The mean over axes."""
    places = {t.axis(x, axis) for axis in axes}
    count = math.prod(x.shape[axis] for axis in places)
    if not count:
        raise NoMeaningError("the mean of no elements")
    return t.mul(total(t, x, axes, kept=kept), fraction(t, count, x.dtype))


def fraction(t: Terms, count: int, dtype: str) -> Term:
    """One divided by a count, exactly."""
    if is_size(count):
        return t.inverse(t.stated(np.array(count, object), dtype))
    return t.inverse(t.constant(np.array(float(count)), dtype))


def largest(t: Terms, x: Term, axes: Sequence[int], *, kept: bool) -> Term:
    """The maximum over axes."""
    return keep(t, x, t.largest(x, axes), axes, kept=kept)


def smallest(t: Terms, x: Term, axes: Sequence[int], *, kept: bool) -> Term:
    """The minimum over axes."""
    if not (x.is_float and x.finite):
        raise NoMeaningError(f"the minimum of {x.dtype}")
    return t.neg(largest(t, t.neg(x), axes, kept=kept))


def sqrt(t: Terms, x: Term) -> Term:
    """The square root of floats."""
    return unary(t, "sqrt", x)


def softmax(t: Terms, x: Term, axis: int, *, name: str = "softmax") -> Term:
    """The exponentials of a row, less its maximum, divided by their sum.

    Of a row with infinities it is an unknown function of the row, finite if the constant that
    hides elements hides none of the rows completely.
    """
    axis = t.axis(x, axis)
    if not x.is_float:
        raise NoMeaningError(f"softmax of {x.dtype}")
    x = with_hidden_scores(t, x, axis)
    if not x.finite:
        visible = _leaves_some(x, axis)
        made = t.rows("softmax" if visible else name, x, axis, None, finite=visible)
        t.weights.add(made.id)
        return made
    shifted = t.function("exp", (t.sub(x, largest(t, x, (axis,), kept=True)),))
    return t.div(shifted, total(t, shifted, (axis,), kept=True))


def _leaves_some(x: Term, axis: int) -> bool:
    """Whether constants of minus infinity hide some elements of each row, and not all of any."""
    if x.op != "select" or not x.inputs[0].finite:
        return False
    infinite = x.inputs[1].inputs[0] if x.inputs[1].op == "expand" else x.inputs[1]
    if infinite.op != "constant":
        return False
    hidden = np.broadcast_to(np.asarray(infinite.value(), np.float64), x.data.shape)[~x.data]
    return bool((hidden == -np.inf).all() and x.data.any(axis=axis).all())


def log_softmax(t: Terms, x: Term, axis: int) -> Term:
    """The logarithm of softmax, as runtimes compute it."""
    axis = t.axis(x, axis)
    if not x.finite:
        return t.rows("log_softmax", x, axis, None, finite=False)
    shifted = t.sub(x, largest(t, x, (axis,), kept=True))
    summed = total(t, t.function("exp", (shifted,)), (axis,), kept=True)
    return t.sub(shifted, t.function("log", (summed,)))


def normalized(t: Terms, x: Term, axes: Sequence[int], epsilon: float) -> Term:
    """A tensor less its mean, divided by the square root of its variance plus epsilon."""
    centered = t.sub(x, mean(t, x, axes, kept=True))
    variance = mean(t, t.mul(centered, centered), axes, kept=True)
    return t.div(centered, sqrt(t, t.add(variance, t.number(epsilon, x.dtype))))


def rms_normalized(t: Terms, x: Term, axes: Sequence[int], epsilon: float) -> Term:
    """A tensor divided by the root of its mean square plus epsilon."""
    squares = mean(t, t.mul(x, x), axes, kept=True)
    return t.div(x, sqrt(t, t.add(squares, t.number(epsilon, x.dtype))))


def scaled_and_shifted(t: Terms, x: Term, scale: Term | None, shift: Term | None) -> Term:
    """A tensor times a scale plus a shift, as far as there are any."""
    x = x if scale is None else t.mul(x, scale)
    return x if shift is None else t.add(x, shift)


def along_channels(t: Terms, vector: Term, rank: int) -> Term:
    """A vector as [1, C, 1, ..]."""
    if vector.rank != 1:
        raise NoMeaningError("a value per channel that is no vector")
    return t.reshape(vector, (1, vector.shape[0], *(1,) * (rank - 2)))


def batch_norm(
    t: Terms,
    x: Term,
    *,
    scale: Term | None,
    shift: Term | None,
    average: Term,
    variance: Term,
    epsilon: float,
) -> Term:
    """Normalization by stored statistics."""
    if x.rank < 2:
        raise NoMeaningError("normalization of a tensor without channels")
    spread = sqrt(t, t.add(variance, t.number(epsilon, variance.dtype)))
    factor = t.inverse(spread) if scale is None else t.div(scale, spread)
    centered = t.sub(x, along_channels(t, average, x.rank))
    y = t.mul(centered, along_channels(t, factor, x.rank))
    return y if shift is None else t.add(y, along_channels(t, shift, x.rank))


def group_norm(
    t: Terms, x: Term, groups: int, *, scale: Term | None, shift: Term | None, epsilon: float
) -> Term:
    """Normalization within groups of channels."""
    if x.rank < 2 or groups < 1 or x.shape[1] % groups:
        raise NoMeaningError("groups that do not fit the channels")
    grouped = t.reshape(x, (x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    y = t.reshape(normalized(t, grouped, (2,), epsilon), x.shape)
    factors = (None if each is None else along_channels(t, each, x.rank) for each in (scale, shift))
    return scaled_and_shifted(t, y, *factors)


def sigmoid(t: Terms, x: Term) -> Term:
    """1 / (1 + exp(-x))."""
    one = t.number(1.0, x.dtype)
    return t.inverse(t.add(one, unary(t, "exp", t.neg(x))))


def silu(t: Terms, x: Term) -> Term:
    """A tensor times its sigmoid."""
    return t.mul(x, sigmoid(t, x))


def relu(t: Terms, x: Term) -> Term:
    """The maximum of a tensor and zero."""
    zero = t.number(0.0, x.dtype) if x.is_float else t.constant(np.array(0, x.dtype), x.dtype)
    return t.maximum(x, zero)


def clip(t: Terms, x: Term, low: Term | None, high: Term | None) -> Term:
    """First not below the lower bound, then not above the upper one."""
    if not x.is_float:
        raise NoMeaningError(f"clip of {x.dtype}")
    if low is not None:
        x = t.maximum(x, low)
    return x if high is None else t.minimum(x, high)


def hard_sigmoid(t: Terms, x: Term, slope: Term, offset: Term) -> Term:
    """A line, clipped to 0…1."""
    line = t.add(t.mul(x, slope), offset)
    return clip(t, line, t.number(0.0, x.dtype), t.number(1.0, x.dtype))


def hard_gate(t: Terms, implied: ImpliedNumbers, x: Term) -> Term:
    """x/6 + 1/2, clipped to 0…1; where the other side divides by 6, clip(x + 3, 0, 6) / 6."""
    sixth = implied.term(t, 1.0 / 6.0, x.dtype)
    if sixth.op == "inverse":
        zero, three, six = (t.number(number, x.dtype) for number in (0.0, 3.0, 6.0))
        return t.mul(clip(t, t.add(x, three), zero, six), sixth)
    return hard_sigmoid(t, x, sixth, t.number(0.5, x.dtype))


def leaky_relu(t: Terms, x: Term, slope: Term) -> Term:
    """A tensor where it is positive, and a multiple of it where it is negative."""
    negative = t.minimum(x, t.number(0.0, x.dtype))
    return t.add(relu(t, x), t.mul(negative, slope))


def elu(t: Terms, x: Term, alpha: float) -> Term:
    """A tensor where it is positive, and alpha·(exp(x) - 1) where it is negative."""
    negative = t.minimum(x, t.number(0.0, x.dtype))
    below = t.sub(unary(t, "exp", negative), t.number(1.0, x.dtype))
    return t.add(relu(t, x), t.mul(below, t.number(alpha, x.dtype)))


def gelu(t: Terms, implied: ImpliedNumbers, x: Term) -> Term:
    """x/2 · (1 + erf(x / sqrt(2)))."""
    root = implied.term(t, math.sqrt(0.5), x.dtype)
    bell = t.add(unary(t, "erf", t.mul(x, root)), t.number(1.0, x.dtype))
    return t.mul(t.mul(x, bell), t.number(0.5, x.dtype))


def gelu_tanh(t: Terms, implied: ImpliedNumbers, x: Term) -> Term:
    """The approximation of GELU by tanh, which is another function."""
    root = implied.term(t, math.sqrt(2.0 / math.pi), x.dtype)
    cubed = t.mul(t.mul(x, t.mul(x, x)), t.number(0.044715, x.dtype))
    bell = t.add(unary(t, "tanh", t.mul(t.add(x, cubed), root)), t.number(1.0, x.dtype))
    return t.mul(t.mul(x, bell), t.number(0.5, x.dtype))


def power(t: Terms, x: Term, exponent: Term) -> Term:
    """A power; of a small whole exponent a product, of ±1/2 a root."""
    if not (x.is_float and exponent.is_float):
        raise NoMeaningError(f"a power of {x.dtype} and {exponent.dtype}")
    stated = exponent.op == "constant" and math.prod(exponent.shape) == 1
    number = float(exponent.value().reshape(())) if stated else math.nan
    shape = broadcast_shapes(x.shape, exponent.shape)
    if number in (1.0, 2.0, 3.0, 4.0):
        result = x
        for _ in range(int(number) - 1):
            result = t.mul(x, result)
        return t.expand(result, shape)
    if number in (0.5, -0.5, -1.0):
        root = x if number == -1.0 else sqrt(t, x)
        return t.expand(root if number > 0 else t.inverse(root), shape)
    return t.function("pow", (x, exponent))


def compare(t: Terms, name: str, a: Term, b: Term) -> Term:
    """A comparison of two tensors of one type."""
    if a.dtype != b.dtype:
        raise NoMeaningError(f"a comparison of {a.dtype} and {b.dtype}")
    whole = below(t, a, b) if name == "less" else None
    if whole is not None:
        return whole
    return t.function(name, (a, b), dtype="bool", commutes=name == "equal")


def where(t: Terms, condition: Term, a: Term, b: Term) -> Term:
    """One of two tensors; if a constant decides, elements are moved."""
    if condition.dtype != "bool" or a.dtype != b.dtype:
        raise NoMeaningError("a choice between tensors of different types")
    shape = broadcast_shapes(condition.shape, a.shape, b.shape)
    stated = condition.inputs[0] if condition.op == "expand" else condition
    if stated.op == "constant":
        mask = np.broadcast_to(stated.value(), dense(shape))
        return t.select(mask, t.expand(a, shape), t.expand(b, shape))
    return t.function("where", (condition, a, b), dtype=a.dtype)


def matmul(t: Terms, a: Term, b: Term) -> Term:
    """NumPy's product: a vector is a row on the left and a column on the right."""
    if not a.rank or not b.rank:
        raise NoMeaningError("a product of matrices with a number")
    left = t.reshape(a, (1, *a.shape)) if a.rank == 1 else a
    right = t.reshape(b, (*b.shape, 1)) if b.rank == 1 else b
    y = t.matmul(left, right)
    shape = list(y.shape)
    if b.rank == 1:
        shape.pop(-1)
    if a.rank == 1:
        shape.pop(-1 if b.rank == 1 else -2)
    return t.reshape(y, shape)


def swapped(t: Terms, x: Term) -> Term:
    """The last two axes in the other order."""
    return t.transpose(x, (*range(x.rank - 2), x.rank - 1, x.rank - 2))


def linear(t: Terms, x: Term, weight: Term, bias: Term | None) -> Term:
    """X · weightᵀ + bias."""
    if weight.rank != 2:
        raise NoMeaningError("a weight that is no matrix")
    y = matmul(t, x, swapped(t, weight))
    return y if bias is None else t.add(y, bias)


def attention(
    t: Terms,
    implied: ImpliedNumbers,
    operands: tuple[Term, Term, Term],
    *,
    mask: Term | None,
    causal: bool,
    scale: float | None,
) -> Term:
    """softmax(q · kᵀ · scale + mask) · v, in which a row that is hidden as a whole gives zeros."""
    q, k, v = operands
    if scale is None:
        factor = implied.term(t, 1.0 / math.sqrt(q.shape[-1]), q.dtype)
    else:
        factor = implied.term(t, scale, q.dtype)
    scores = t.mul(t.matmul(q, swapped(t, k)), factor)
    if causal:
        if mask is not None:
            raise NoMeaningError("a causal mask together with another one")
        seen = np.tril(np.ones(scores.shape[-2:], bool))
        mask = t.constant(seen, "bool")
    if mask is not None and mask.dtype == "bool":
        visible = t.constant(np.zeros(()), q.dtype)
        hidden = t.constant(np.array(-np.inf), q.dtype)
        mask = where(t, mask, visible, hidden)
    if mask is not None:
        scores = t.add(scores, mask)
    return t.matmul(softmax(t, scores, -1, name="softmax, zero if hidden"), v)


def cumulative_sum(
    t: Terms, x: Term, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> Term:
    """The sums of all elements up to each one: a product with a triangle of ones."""
    axis = t.axis(x, axis)
    size = x.shape[axis]
    triangle = np.tril(np.ones((size, size)), -1 if exclusive else 0)
    triangle = triangle.T if reverse else triangle
    order = [at for at in range(x.rank) if at != axis] + [axis]
    rows = t.transpose(x, order)
    summed = matmul(t, rows, t.constant(triangle.T.copy(), x.dtype))
    return t.transpose(summed, np.argsort(order).tolist())

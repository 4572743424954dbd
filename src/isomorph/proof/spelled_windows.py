"""Convolutions and pooling by their definitions, for every framework alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.kernels.kept_elements import same_border
from isomorph.kernels.windows import every_window
from isomorph.proof.spelling import along_channels
from isomorph.proof.term import FLOATS, NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.proof.terms import Terms


def stated_border(
    stated: str,
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[list[int], list[int]]:
    """The border that ``SAME`` or ``VALID`` stands for, in front and behind."""
    require_same_or_valid(stated)
    if stated == "SAME":
        return same_border(sizes, kernel, strides, dilations)
    return [0] * len(kernel), [0] * len(kernel)


def require_same_or_valid(stated: str) -> None:
    """Refuse any other word for a border."""
    if stated not in ("SAME", "VALID"):
        raise NoMeaningError(f"padding {stated}")


def channels_first(t: Terms, x: Term) -> Term:
    """[N, .., C] as [N, C, ..]."""
    return t.transpose(x, (0, x.rank - 1, *range(1, x.rank - 1)))


def channels_last(t: Terms, x: Term) -> Term:
    """[N, C, ..] as [N, .., C]."""
    return t.transpose(x, (0, *range(2, x.rank), 1))


def adjoint_convolution(
    t: Terms,
    x: Term,
    weight: Term,
    bias: Term | None,
    *,
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    same: bool,
) -> Term:
    """The adjoint of the convolution that makes ``x`` from an image of ``sizes``.

    The border is that of the convolution, which the size of the image decides.
    """
    kernel = weight.shape[2:]
    spatial, reach = len(kernel), [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    if len(sizes) != spatial or x.rank != spatial + 2:
        raise NoMeaningError("a convolution whose sizes do not fit")
    before = [0] * spatial
    if same:
        before, _ = same_border(sizes, kernel, strides, dilations)
    for at, size in enumerate(sizes):
        places = math.ceil((size if same else size - reach[at] + 1) / strides[at])
        if places != x.shape[2 + at]:
            raise NoMeaningError("a convolution whose sizes do not fit")
    spans = [(n - 1) * s + r for n, s, r in zip(x.shape[2:], strides, reach, strict=True)]
    return transposed_convolution(
        t, x, weight, bias, strides=strides, dilations=dilations, before=before,
        after=[span - low - n for span, low, n in zip(spans, before, sizes, strict=True)],
        groups=1,
    )  # fmt: skip


def convolution(
    t: Terms,
    x: Term,
    weight: Term,
    bias: Term | None,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    groups: int,
) -> Term:
    """A convolution with a border of zeros."""
    padded = t.pad(x, (0, 0, *before), (0, 0, *after), t.constant(np.zeros(()), x.dtype))
    y = t.conv(padded, weight, strides, dilations, groups)
    return y if bias is None else t.add(y, along_channels(t, bias, y.rank))


def transposed_convolution(
    t: Terms,
    x: Term,
    weight: Term,
    bias: Term | None,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    groups: int,
) -> Term:
    """The transpose of a convolution; ``before`` and ``after`` are what its borders lose.

    It is a convolution of the tensor, spread by the strides, with the reversed kernel.
    """
    if weight.rank != x.rank or x.shape[1] != weight.shape[0] or x.shape[1] % groups:
        raise NoMeaningError("a convolution whose sizes do not fit")
    kernel, spatial = weight.shape[2:], x.rank - 2
    inputs, outputs = weight.shape[0] // groups, weight.shape[1]
    turned = t.reshape(weight, (groups, inputs, outputs, *kernel))
    turned = t.transpose(turned, (0, 2, 1, *range(3, 3 + spatial)))
    turned = t.reshape(turned, (groups * outputs, inputs, *kernel))
    for axis in range(spatial):
        turned = t.slice(turned, 2 + axis, kernel[axis] - 1, kernel[axis], -1)
    reach = [(size - 1) * d for size, d in zip(kernel, dilations, strict=True)]
    return convolution(
        t,
        t.spread(x, strides),
        turned,
        bias,
        strides=(1,) * spatial,
        dilations=dilations,
        before=[r - b for r, b in zip(reach, before, strict=True)],
        after=[r - a for r, a in zip(reach, after, strict=True)],
        groups=groups,
    )


def max_pool(
    t: Terms,
    x: Term,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
) -> Term:
    """The largest element of each window; the border does not count."""
    lead = x.rank - len(kernel)
    fill = t.constant(np.zeros((), x.dtype if x.dtype not in FLOATS else "float32"), x.dtype)
    padded = t.pad(x, (0,) * lead + tuple(before), (0,) * lead + tuple(after), fill)
    seen = t.windows(padded, kernel, strides, dilations)
    outside = _outside(
        x, kernel=kernel, strides=strides, dilations=dilations, before=before, after=after
    )
    return t.largest(seen, tuple(range(x.rank, seen.rank)), outside)


def _outside(
    x: Term,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
) -> Array:
    """Which elements of the windows lie in the border."""
    lead = x.rank - len(kernel)
    inside = np.ones((1,) * lead + x.shape[lead:], bool)
    widths = [(0, 0)] * lead + list(zip(before, after, strict=True))
    return ~every_window(np.pad(inside, widths), kernel, strides, dilations)


def counted(
    x: Term,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    beyond: Sequence[int],
) -> Array:
    """How many elements of each window lie in the tensor or its border, and not beyond it."""
    spatial = len(kernel)
    sizes = zip(x.shape[x.rank - spatial :], before, after, strict=True)
    inside = np.pad(np.ones([sum(each) for each in sizes]), [(0, extra) for extra in beyond])
    seen = every_window(inside, kernel, strides, (1,) * spatial)
    found = seen.sum(axis=tuple(range(spatial, 2 * spatial)))
    return np.asarray(found.reshape((1,) * (x.rank - spatial) + found.shape))


def average_pool(
    t: Terms,
    x: Term,
    *,
    kernel: Sequence[int],
    strides: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    counted: Array | None = None,
) -> Term:
    """The mean of each window; ``counted`` are the elements each divides by, else those inside."""
    ones = (1,) * len(kernel)
    lead = x.rank - len(kernel)
    if counted is None:
        outside = _outside(
            x, kernel=kernel, strides=strides, dilations=ones, before=before, after=after
        )
        counted = (~outside).sum(axis=tuple(range(x.rank, x.rank + len(kernel))))
    if not np.all(counted):
        raise NoMeaningError("the mean of no elements")
    kernel, before, after = list(kernel), list(before), list(after)
    for at, size in enumerate(x.shape[lead:]):
        if (size + before[at] + after[at] - kernel[at]) // strides[at] == 0:
            # Of the only window along an axis, what lies inside the tensor.
            kernel[at] = min(size, kernel[at] - before[at])
            before[at] = after[at] = 0
            x = t.slice(x, lead + at, 0, kernel[at])
    padded = t.pad(
        x, (0,) * lead + tuple(before), (0,) * lead + tuple(after), t.number(0.0, x.dtype)
    )
    seen = t.windows(padded, kernel, strides, ones)
    divisor = t.constant(np.asarray(counted, np.float64), x.dtype)
    if np.ptp(counted) == 0:
        divisor = t.constant(np.array(float(counted.flat[0])), x.dtype)
    return t.div(t.sum(seen, tuple(range(x.rank, seen.rank))), divisor)

"""What ATen's convolutions and pooling mean, for proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from isomorph.proof import spelled_windows as spell
from isomorph.proof import spelling
from isomorph.proof.spelled_resize import linear_along, repeated_along
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _sizes(call: Call, name: str, spatial: int, default: Sequence[int] | None = None) -> list[int]:
    stated = call.attr(name)
    if stated is None or stated == ():
        if default is None:
            raise NoMeaningError(f"{name} is not stated")
        return list(default)
    sizes = [stated] if isinstance(stated, int) else list(stated)
    if not all(isinstance(each, int) for each in sizes):
        raise NoMeaningError(f"{name} is computed or a word")
    sizes = sizes * spatial if len(sizes) == 1 else sizes
    if len(sizes) != spatial:
        raise NoMeaningError(f"{name} does not fit")
    return [int(each) for each in sizes]


def _conv(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    x, weight = call.x(0), call.x(1)
    spatial = weight.rank - 2
    if x.rank != weight.rank:
        raise NoMeaningError("a tensor without a batch")
    strides, dilations = (_sizes(call, name, spatial) for name in ("stride", "dilation"))
    if isinstance(call.attr("padding"), str):
        before, after = _border_by_word(call, x, weight.shape[2:], strides, dilations)
    else:
        before = after = _sizes(call, "padding", spatial)
        added = call.attr("output_padding", ())
        if call.attr("transposed", False):
            return _transposed(call, x, weight, strides=strides, dilations=dilations, border=before)
        if any(added):
            raise NoMeaningError("an output border without a transposition")
    return (
        spell.convolution(
            call.terms, x, weight, call.optional(2), strides=strides, dilations=dilations,
            before=before, after=after, groups=int(call.needs("groups")),
        ),
    )  # fmt: skip


def _border_by_word(
    call: Call, x: Term, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """``valid`` has none; with ``same``, the result is as large as the tensor."""
    word = call.needs("padding")
    if word == "same" and any(each != 1 for each in strides):
        raise NoMeaningError("padding same with a stride")
    return spell.stated_border(word.upper(), x.shape[2:], kernel, strides, dilations)


def _transposed(
    call: Call,
    x: Term,
    weight: Term,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    border: Sequence[int],
) -> Sequence[Term]:
    added = _sizes(call, "output_padding", weight.rank - 2)
    return (
        spell.transposed_convolution(
            call.terms, x, weight, call.optional(2), strides=strides, dilations=dilations,
            before=border, after=[b - e for b, e in zip(border, added, strict=True)],
            groups=int(call.needs("groups")),
        ),
    )  # fmt: skip


def _conv_transpose(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    x, weight = call.x(0), call.x(1)
    spatial = weight.rank - 2
    strides, dilations, border = (
        _sizes(call, name, spatial) for name in ("stride", "dilation", "padding")
    )
    return _transposed(call, x, weight, strides=strides, dilations=dilations, border=border)


def _geometry(
    call: Call, x: Term, spatial: int
) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Kernel, strides, dilations, the border, and how far the last windows reach beyond it."""
    if x.rank != spatial + 2:
        raise NoMeaningError("a tensor without a batch")
    kernel = _sizes(call, "kernel_size", spatial)
    strides = _sizes(call, "stride", spatial, kernel)
    dilations = _sizes(call, "dilation", spatial, [1] * spatial)
    border = _sizes(call, "padding", spatial, [0] * spatial)
    beyond = [0] * spatial
    if call.attr("ceil_mode", False):
        for at, size in enumerate(x.shape[2:]):
            reach = (kernel[at] - 1) * dilations[at] + 1
            count = math.ceil((size + 2 * border[at] - reach) / strides[at]) + 1
            # The last window has to begin inside the tensor or its front border.
            if (count - 1) * strides[at] >= size + border[at]:
                count -= 1
            last = (count - 1) * strides[at] + reach
            beyond[at] = max(0, last - size - 2 * border[at])
    return kernel, strides, dilations, border, beyond


def _max_pool(spatial: int) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        if len([name for name in call.node.outputs if name]) > 1:
            raise NoMeaningError("the places of the largest elements")
        kernel, strides, dilations, border, beyond = _geometry(call, call.x(), spatial)
        after = [b + e for b, e in zip(border, beyond, strict=True)]
        t, x = call.terms, call.x()
        return (
            spell.max_pool(
                t, x, kernel=kernel, strides=strides, dilations=dilations, before=border,
                after=after,
            ),
        )  # fmt: skip

    return meaning


def _average_pool(spatial: int) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        t, x = call.terms, call.x()
        kernel, strides, _, border, beyond = _geometry(call, x, spatial)
        after = [b + e for b, e in zip(border, beyond, strict=True)]
        counted, divisor = None, call.attr("divisor_override")
        include = call.attr("count_include_pad", True)
        if divisor is not None:
            counted = np.array(float(divisor))
        elif include:
            # The border counts, what lies beyond it does not.
            counted = spell.counted(
                x, kernel=kernel, strides=strides, before=border, after=border, beyond=beyond
            )
        return (
            spell.average_pool(
                t, x, kernel=kernel, strides=strides, before=border, after=after, counted=counted
            ),
        )

    return meaning


def _adaptive(spatial: int) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        t, x = call.terms, call.x()
        sizes = _sizes(call, "output_size", spatial)
        if x.rank != spatial + 2:
            raise NoMeaningError("a tensor without a batch")
        if any(n % wanted for n, wanted in zip(x.shape[2:], sizes, strict=True)):
            raise NoMeaningError("windows of different sizes")
        kernel = [n // wanted for n, wanted in zip(x.shape[2:], sizes, strict=True)]
        if all(wanted == 1 for wanted in sizes):
            return (spelling.mean(t, x, tuple(range(2, x.rank)), kept=True),)
        none = [0] * spatial
        return (spell.average_pool(t, x, kernel=kernel, strides=kernel, before=none, after=none),)

    return meaning


def _upsampled(spatial: int, *, linear: bool) -> Meaning:
    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        t, x = call.terms, call.x()
        if x.rank != spatial + 2:
            raise NoMeaningError("a tensor without a batch")
        stated, factors = call.attr("output_size"), call.attr("scale_factors")
        corners = bool(call.attr("align_corners", False))
        old = x.shape[2:]
        if factors is not None and stated is None:
            ratios = [Fraction(float(each)) for each in factors]
            sizes = [int(n * ratio) for n, ratio in zip(old, ratios, strict=True)]
        elif stated is not None and factors is None:
            sizes = [int(each) for each in stated]
            ratios = [Fraction(size, n) for size, n in zip(sizes, old, strict=True)]
        else:
            raise NoMeaningError("sizes and factors together")
        for axis, (size, ratio) in enumerate(zip(sizes, ratios, strict=True), start=2):
            if linear:
                centers = "align_corners" if corners else "half_pixel"
                x = linear_along(t, x, axis, size, scale=ratio, centers=centers)
            else:
                x = repeated_along(t, x, axis, size, ratio)
        return (x,)

    return meaning


WINDOWS: dict[str, Meaning] = {
    "upsample_linear1d.vec": _upsampled(1, linear=True),
    "upsample_bilinear2d.vec": _upsampled(2, linear=True),
    "upsample_nearest1d.vec": _upsampled(1, linear=False),
    "upsample_nearest2d.vec": _upsampled(2, linear=False),
    "conv1d.default": _conv,
    "conv2d.default": _conv,
    "conv3d.default": _conv,
    "conv1d.padding": _conv,
    "conv2d.padding": _conv,
    "convolution.default": _conv,
    "conv_transpose1d.default": _conv_transpose,
    "conv_transpose2d.input": _conv_transpose,
    "conv_transpose3d.input": _conv_transpose,
    **{f"max_pool{n}d.default": _max_pool(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d.default": _average_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d.default": _adaptive(n) for n in (1, 2, 3)},
    "_adaptive_avg_pool2d.default": _adaptive(2),
}
"""Names without ``aten.``."""

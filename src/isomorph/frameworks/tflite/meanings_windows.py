"""What TFLite's convolutions and pooling mean, for proofs: images are NHWC, kernels OHWI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.frameworks.tflite.meanings_activations import fused
from isomorph.proof import shared_movement as shared
from isomorph.proof import spelled_windows as spell
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _sizes(call: Call, *names: str) -> list[int]:
    sizes = [int(call.needs(name)) for name in names]
    if min(sizes) < 1:
        raise NoMeaningError(f"{names[0]} that does not fit")
    return sizes


def _image(call: Call, place: int = 0) -> Term:
    return spell.channels_first(call.terms, shared.image(call, place))


def _convolved(call: Call, weight: Term, groups: int) -> Sequence[Term]:
    t, x = call.terms, _image(call)
    strides = _sizes(call, "stride_h", "stride_w")
    dilations = _sizes(call, "dilation_h_factor", "dilation_w_factor")
    before, after = spell.stated_border(
        call.needs("padding"), x.shape[2:], weight.shape[2:], strides, dilations
    )
    y = spell.convolution(
        t, x, weight, call.optional(2), strides=strides, dilations=dilations, before=before,
        after=after, groups=groups,
    )  # fmt: skip
    return (spell.channels_last(t, fused(call, y)),)


def _conv(call: Call) -> Sequence[Term]:
    """Kernels of fewer channels than the image has make groups."""
    call.only(2, 3)
    x, weight = call.x(0), call.x(1)
    if x.rank != 4 or weight.rank != 4 or not weight.shape[3] or x.shape[3] % weight.shape[3]:
        raise NoMeaningError("a convolution whose sizes do not fit")
    kernel = spell.channels_first(call.terms, weight)
    return _convolved(call, kernel, x.shape[3] // weight.shape[3])


def _depthwise(call: Call) -> Sequence[Term]:
    """Every channel has kernels of its own, one after the other."""
    call.only(2, 3)
    x, weight = call.x(0), call.x(1)
    times = int(call.needs("depth_multiplier"))
    if x.rank != 4 or weight.rank != 4 or weight.shape[0] != 1:
        raise NoMeaningError("a convolution whose sizes do not fit")
    if weight.shape[3] != x.shape[3] * times:
        raise NoMeaningError("a multiplier that does not fit")
    kernel = call.terms.transpose(weight, (3, 0, 1, 2))
    return _convolved(call, kernel, x.shape[3])


def _transposed(call: Call) -> Sequence[Term]:
    call.only(3, 4)
    t, x, weight = call.terms, _image(call, 2), call.x(1)
    shape = call.ints(0)
    if len(shape) != 4 or shape[0] != x.shape[0] or shape[3] != weight.shape[0]:
        raise NoMeaningError("an output shape that does not fit")
    stated = call.needs("padding")
    spell.require_same_or_valid(stated)
    y = spell.adjoint_convolution(
        t, x, t.transpose(weight, (3, 0, 1, 2)), call.optional(3), sizes=shape[1:3],
        strides=_sizes(call, "stride_h", "stride_w"), dilations=(1, 1), same=stated == "SAME",
    )  # fmt: skip
    return (spell.channels_last(t, fused(call, y)),)


def _pool(call: Call) -> tuple[Term, dict[str, list[int]]]:
    call.only(1)
    x = _image(call)
    kernel = _sizes(call, "filter_height", "filter_width")
    strides = _sizes(call, "stride_h", "stride_w")
    before, after = spell.stated_border(call.needs("padding"), x.shape[2:], kernel, strides, (1, 1))
    return x, {"kernel": kernel, "strides": strides, "before": before, "after": after}


def _max_pool(call: Call) -> Sequence[Term]:
    x, sizes = _pool(call)
    y = spell.max_pool(call.terms, x, dilations=(1, 1), **sizes)
    return (spell.channels_last(call.terms, fused(call, y)),)


def _average_pool(call: Call) -> Sequence[Term]:
    """The border does not count."""
    x, sizes = _pool(call)
    y = spell.average_pool(call.terms, x, counted=None, **sizes)
    return (spell.channels_last(call.terms, fused(call, y)),)


def _resize_nearest(call: Call) -> Sequence[Term]:
    shared.image(call)
    return shared.nearest(call)


WINDOWS: dict[str, Meaning] = {
    "RESIZE_BILINEAR": shared.bilinear,
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest,
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "TRANSPOSE_CONV": _transposed,
    "MAX_POOL_2D": _max_pool,
    "AVERAGE_POOL_2D": _average_pool,
}

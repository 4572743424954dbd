"""What TensorFlow's convolutions, pooling and normalizations mean: kernels are HWIO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.proof import shared_movement as shared
from isomorph.proof import spelled_windows as spell
from isomorph.proof import spelling
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _last(call: Call) -> bool:
    """Whether the channels stand last."""
    stated = call.needs("data_format")
    if stated not in ("NHWC", "NCHW"):
        raise NoMeaningError(f"data_format {stated}")
    return bool(stated == "NHWC")


def _image(call: Call, place: int = 0) -> Term:
    x = shared.image(call, place)
    return spell.channels_first(call.terms, x) if _last(call) else x


def _result(call: Call, y: Term) -> Sequence[Term]:
    return (spell.channels_last(call.terms, y) if _last(call) else y,)


def _sizes(call: Call, name: str) -> list[int]:
    """The sizes along the two axes of an image; those of batch and channels must be 1."""
    stated = [int(each) for each in call.needs(name)]
    if len(stated) != 4 or min(stated) < 1:
        raise NoMeaningError(f"{name} that do not fit")
    sizes, rest = (stated[1:3], stated[::3]) if _last(call) else (stated[2:], stated[:2])
    if rest != [1, 1]:
        raise NoMeaningError(f"{name} of batch or channels")
    return sizes


def _border(
    call: Call, x: Term, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Of a tensor [N, C, H, W]."""
    stated, explicit = call.needs("padding"), call.attr("explicit_paddings", ())
    if stated == "EXPLICIT":
        pairs = [explicit[at : at + 2] for at in range(0, 8, 2)]
        edges = pairs[1:3] if _last(call) else pairs[2:]
        if len(explicit) != 8 or sum(map(sum, pairs)) != sum(map(sum, edges)) or min(explicit) < 0:
            raise NoMeaningError("a border that does not fit")
        return [int(pair[0]) for pair in edges], [int(pair[1]) for pair in edges]
    if any(explicit):
        raise NoMeaningError(f"padding {stated} with explicit borders")
    return spell.stated_border(stated, x.shape[2:], kernel, strides, dilations)


def _convolved(call: Call, weight: Term, groups: int) -> Sequence[Term]:
    x = _image(call)
    strides, dilations = _sizes(call, "strides"), _sizes(call, "dilations")
    before, after = _border(call, x, weight.shape[2:], strides, dilations)
    y = spell.convolution(
        call.terms, x, weight, None, strides=strides, dilations=dilations, before=before,
        after=after, groups=groups,
    )  # fmt: skip
    return _result(call, y)


def _conv(call: Call) -> Sequence[Term]:
    """Kernels of fewer channels than the image has make groups."""
    call.only(2)
    call.derived("group")
    channels, weight = _image(call).shape[1], call.x(1)
    if weight.rank != 4 or not weight.shape[2] or channels % weight.shape[2]:
        raise NoMeaningError("a convolution whose sizes do not fit")
    kernel = call.terms.transpose(weight, (3, 2, 0, 1))
    return _convolved(call, kernel, channels // weight.shape[2])


def _depthwise(call: Call) -> Sequence[Term]:
    """Every channel has kernels of its own, one after the other."""
    call.only(2)
    call.derived("group")
    t, weight = call.terms, call.x(1)
    channels = _image(call).shape[1]
    if weight.rank != 4 or weight.shape[2] != channels:
        raise NoMeaningError("a convolution whose sizes do not fit")
    kernel = t.transpose(weight, (2, 3, 0, 1))
    kernel = t.reshape(kernel, (channels * weight.shape[3], 1, *weight.shape[:2]))
    return _convolved(call, kernel, channels)


def _transposed(call: Call) -> Sequence[Term]:
    call.only(3)
    t, x, weight, shape = call.terms, _image(call, 2), call.x(1), call.ints(0)
    if len(shape) != 4 or weight.rank != 4 or any(call.attr("explicit_paddings", ())):
        raise NoMeaningError("an output shape that does not fit")
    stated = call.needs("padding")
    sizes, channels = (shape[1:3], shape[3]) if _last(call) else (shape[2:], shape[1])
    spell.require_same_or_valid(stated)
    if shape[0] != x.shape[0] or channels != weight.shape[2]:
        raise NoMeaningError("an output shape that does not fit")
    y = spell.adjoint_convolution(
        t, x, t.transpose(weight, (3, 2, 0, 1)), None, sizes=sizes,
        strides=_sizes(call, "strides"), dilations=_sizes(call, "dilations"),
        same=stated == "SAME",
    )  # fmt: skip
    return _result(call, y)


def _pool(call: Call) -> tuple[Term, dict[str, list[int]]]:
    call.only(1)
    x, kernel, strides = _image(call), _sizes(call, "ksize"), _sizes(call, "strides")
    before, after = _border(call, x, kernel, strides, (1, 1))
    return x, {"kernel": kernel, "strides": strides, "before": before, "after": after}


def _max_pool(call: Call) -> Sequence[Term]:
    x, sizes = _pool(call)
    return _result(call, spell.max_pool(call.terms, x, dilations=(1, 1), **sizes))


def _average_pool(call: Call) -> Sequence[Term]:
    """The border does not count."""
    x, sizes = _pool(call)
    return _result(call, spell.average_pool(call.terms, x, counted=None, **sizes))


def _bias_add(call: Call) -> Sequence[Term]:
    call.only(2)
    t, x, bias = call.terms, call.x(0), call.x(1)
    if bias.rank != 1 or x.rank < 2:
        raise NoMeaningError("a bias that does not fit")
    if _last(call):
        if bias.shape[0] != x.shape[-1]:
            raise NoMeaningError("a bias that does not fit")
        return (t.add(x, bias),)
    if bias.shape[0] != x.shape[1]:
        raise NoMeaningError("a bias that does not fit")
    return (t.add(x, spelling.along_channels(t, bias, x.rank)),)


def _batch_norm(call: Call) -> Sequence[Term]:
    """Normalization by stored statistics; its further outputs are functions of nothing known."""
    call.only(5)
    if call.needs("is_training") is not False:
        raise NoMeaningError("normalization in training")
    call.attr("exponential_avg_factor")
    t, x = call.terms, _image(call)
    scale, shift, average, variance = (call.x(place) for place in range(1, 5))
    y = spelling.batch_norm(
        t, x, scale=scale, shift=shift, average=average, variance=variance,
        epsilon=float(call.needs("epsilon")),
    )  # fmt: skip
    further = [
        t.opaque(f"FusedBatchNorm output {place}", call.all(), average.shape, average.dtype)
        for place in range(1, len(call.node.outputs))
    ]
    return (*_result(call, y), *further)


WINDOWS: dict[str, Meaning] = {
    "ResizeBilinear": shared.bilinear,
    "ResizeNearestNeighbor": shared.nearest,
    "Conv2D": _conv,
    "DepthwiseConv2dNative": _depthwise,
    "Conv2DBackpropInput": _transposed,
    "MaxPool": _max_pool,
    "AvgPool": _average_pool,
    "BiasAdd": _bias_add,
    "FusedBatchNormV3": _batch_norm,
}

"""Meanings of movement that TensorFlow and TFLite share.

TensorFlow's graphs also state as attributes what some operands hold; TFLite's state none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from isomorph.kernels.strided_slice import StridedSlice
from isomorph.proof import spelled_movement as move
from isomorph.proof import spelled_windows as windows
from isomorph.proof.spelled_resize import repeated_along, resize_bilinear
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning
    from isomorph.proof.terms import Terms


def squeeze(call: Call) -> Sequence[Term]:
    """Without the listed axes, or without all of size 1 if none is listed."""
    call.only(1)
    call.derived("axes")
    return (move.squeezed(call.terms, call.x(), call.needs("squeeze_dims") or None),)


def expand_dims(call: Call) -> Sequence[Term]:
    """With a new axis of size 1."""
    call.only(2)
    call.derived("axes")
    return (move.unsqueezed(call.terms, call.x(), call.ints(1)[0]),)


def transpose(call: Call) -> Sequence[Term]:
    """Axes in another order."""
    call.only(2)
    call.derived("perm")
    return (call.terms.transpose(call.x(), call.ints(1)),)


def pack(call: Call) -> Sequence[Term]:
    """Tensors side by side along a new axis."""
    call.refuse("values_count", call.count)
    return (move.stacked(call.terms, call.all(), int(call.needs("axis"))),)


def unpack(call: Call) -> Sequence[Term]:
    """The slices of one axis, each without it."""
    call.only(1)
    call.refuse("num", len(call.node.outputs))
    return move.unstacked(call.terms, call.x(), int(call.needs("axis")))


def split(count: str) -> Meaning:
    """Equal parts of one axis; ``count`` is the option that says how many."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(2)
        call.derived("axis")
        return move.equal_parts(call.terms, call.x(1), call.ints(0)[0], int(call.needs(count)))

    return meaning


def split_by_sizes(count: str) -> Meaning:
    """Parts of given sizes; ``count`` is the option that says how many."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(3)
        call.derived("axis", "split")
        call.refuse(count, len(call.node.outputs))
        return move.parts(call.terms, call.x(0), call.ints(2)[0], call.ints(1))

    return meaning


def sliced(call: Call) -> Sequence[Term]:
    """So many elements of every axis from a place on."""
    call.only(3)
    call.derived("begin", "size")
    return (move.part(call.terms, call.x(), call.ints(1), call.ints(2)),)


def strided_slice(call: Call) -> Sequence[Term]:
    """A slice by bounds, steps and masks."""
    call.only(4)
    call.derived("begin", "end", "strides")
    call.refuse("offset", False)
    words = {"begins": "begin", "ends": "end", "ellipsis": "ellipsis", "news": "new_axis",
             "shrinks": "shrink_axis"}  # fmt: skip
    masks = {key: int(call.needs(f"{word}_mask")) for key, word in words.items()}
    by = StridedSlice(begin=call.ints(1), end=call.ints(2), strides=call.ints(3), **masks)
    return (move.strided(call.terms, call.x(), by),)


def pad(call: Call) -> Sequence[Term]:
    """With a border of zeros, or of the number that a third input holds."""
    call.only(2, 3)
    call.derived("paddings", "value")
    return (move.bordered(call.terms, call.x(), call.value(1), call.optional(2)),)


def mirror_pad(call: Call) -> Sequence[Term]:
    """With a border of its own reflection."""
    call.only(2)
    call.derived("paddings")
    modes: dict[str, move.Reflection] = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    return (move.mirrored(call.terms, call.x(), call.value(1), modes[call.needs("mode")]),)


def tile(call: Call) -> Sequence[Term]:
    """Laid side by side, so often along each axis."""
    call.only(2)
    return (move.repeated(call.terms, call.x(), call.ints(1)),)


def broadcast(call: Call) -> Sequence[Term]:
    """Axes of size 1, or missing ones in front, repeated."""
    call.only(2)
    return (call.terms.expand(call.x(), call.ints(1)),)


def blocks(function: Callable[[Terms, Term, int], Term]) -> Meaning:
    """Blocks of pixels and of channels, which stand last, exchanged by ``function``."""

    def meaning(call: Call) -> Sequence[Term]:
        call.only(1)
        call.refuse("data_format", "NHWC")
        return (function(call.terms, call.x(), int(call.needs("block_size"))),)

    return meaning


def space_to_batch(call: Call) -> Sequence[Term]:
    """Blocks of pixels spread over the batch."""
    call.only(3)
    call.derived("paddings")
    return (move.space_to_batch(call.terms, call.x(), call.ints(1), call.value(2)),)


def batch_to_space(call: Call) -> Sequence[Term]:
    """Blocks of pixels gathered from the batch."""
    call.only(3)
    call.derived("crops")
    return (move.batch_to_space(call.terms, call.x(), call.ints(1), call.value(2)),)


def reverse(call: Call) -> Sequence[Term]:
    """The listed axes backward."""
    call.only(2)
    call.derived("axes")
    t, x = call.terms, call.x()
    for place in {t.axis(x, axis) for axis in call.ints(1)}:
        x = t.slice(x, place, x.shape[place] - 1, x.shape[place], -1)
    return (x,)


def image(call: Call, place: int = 0) -> Term:
    """An input that must be floats with four axes."""
    x = call.x(place)
    if x.rank != 4 or not x.is_float:
        raise NoMeaningError(f"an image of {x.dtype} with {x.rank} axes")
    return x


def bilinear(call: Call) -> Sequence[Term]:
    """An image, whose channels stand last, resized by linear interpolation."""
    call.only(2)
    t, x, sizes = call.terms, windows.channels_first(call.terms, image(call)), call.ints(1)
    corners, halves = bool(call.needs("align_corners")), bool(call.needs("half_pixel_centers"))
    for axis, size in zip((2, 3), sizes, strict=True):
        x = resize_bilinear(t, x, axis, size, corners=corners, halves=halves)
    return (windows.channels_last(t, x),)


def nearest(call: Call) -> Sequence[Term]:
    """Images of any type, whose channels stand last, with each pixel repeated."""
    call.only(2)
    call.refuse("align_corners", False)
    call.needs("half_pixel_centers")
    t, x, sizes = call.terms, call.x(), call.ints(1)
    if x.rank != 4:
        raise NoMeaningError(f"an image with {x.rank} axes")
    x = windows.channels_first(t, x)
    for axis, size in zip((2, 3), sizes, strict=True):
        x = repeated_along(t, x, axis, size, Fraction(size, x.shape[axis]))
    return (windows.channels_last(t, x),)

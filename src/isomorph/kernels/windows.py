"""Sliding windows: padding, output sizes and views, shared by convolution and pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isomorph.kernels.kept_elements import same_border
from isomorph.kernels.large_elements import copied
from isomorph.oracle.noise import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Where a kernel sits on its input: everything per spatial axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    output: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """How far a dilated kernel extends."""
        pairs = zip(self.kernel, self.dilations, strict=True)
        return tuple((size - 1) * step + 1 for size, step in pairs)


def windows(
    attributes: Mapping[str, Any], spatial: Sequence[int], kernel: Sequence[int]
) -> Windows:
    """The windows that the attributes of a convolution or pooling describe."""
    rank = len(spatial)
    strides = tuple(attributes.get("strides") or (1,) * rank)
    dilations = tuple(attributes.get("dilations") or (1,) * rank)
    pads = tuple(attributes.get("pads") or (0,) * 2 * rank)
    auto = attributes.get("auto_pad", "NOTSET")
    ceil = bool(attributes.get("ceil_mode", 0))
    begin, end, output = [], [], []
    for axis in range(rank):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        size, stride = spatial[axis], strides[axis]
        before, after = pads[axis], pads[axis + rank]
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            low, high = same_border([size], [kernel[axis]], [stride], [dilations[axis]])
            before, after = (low[0], high[0]) if auto == "SAME_UPPER" else (high[0], low[0])
        elif auto == "VALID":
            before = after = 0
        span = size + before + after - reach
        count = (-(-span // stride) if ceil and auto == "NOTSET" else span // stride) + 1
        # A last window that would start in the padding behind the input is left out.
        if ceil and auto == "NOTSET" and (count - 1) * stride >= size + before:
            count -= 1
        begin.append(before)
        end.append(after)
        output.append(max(count, 0))
    return Windows(
        kernel=tuple(kernel),
        strides=strides,
        dilations=dilations,
        begin=tuple(begin),
        end=tuple(end),
        output=tuple(output),
    )


def padded(x: Array, place: Windows, value: float = 0.0) -> Array:
    """The input with its padding written out, as far as the windows reach."""
    widths = [(0, 0)] * (x.ndim - len(place.kernel))
    for axis, count in enumerate(place.output):
        size = x.shape[axis - len(place.output)]
        needed = (count - 1) * place.strides[axis] + place.reach[axis]
        behind = max(needed - size - place.begin[axis], place.end[axis], 0)
        widths.append((place.begin[axis], behind))
    if not any(before or after for before, after in widths):
        return x
    shape = [size + sum(width) for size, width in zip(x.shape, widths, strict=True)]
    y = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    inner = tuple(slice(w[0], w[0] + s) for w, s in zip(widths, x.shape, strict=True))
    copied(x, y[inner])
    return y


def view(x: Array, place: Windows) -> Array:
    """A view (…, outputs…, kernel…) on a padded input; nothing is copied."""
    rank = len(place.kernel)
    lead = x.shape[: x.ndim - rank]
    steps = x.strides[x.ndim - rank :]
    moved = [step * stride for step, stride in zip(steps, place.strides, strict=True)]
    within = [step * dilation for step, dilation in zip(steps, place.dilations, strict=True)]
    return np.lib.stride_tricks.as_strided(
        x,
        shape=(*lead, *place.output, *place.kernel),
        strides=(*x.strides[: x.ndim - rank], *moved, *within),
        writeable=False,
    )


def every_window(
    x: Array, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Array:
    """The windows of the last axes without any border: (…, places…, kernel…)."""
    none = (0,) * len(kernel)
    place = Windows(
        kernel=tuple(kernel), strides=tuple(strides), dilations=tuple(dilations), begin=none,
        end=none, output=none,
    )  # fmt: skip
    sizes = x.shape[x.ndim - len(kernel) :]
    spans = zip(sizes, place.reach, place.strides, strict=True)
    output = tuple(max((size - reach) // stride + 1, 0) for size, reach, stride in spans)
    return view(x, replace(place, output=output))


def shifted(x: Array, place: Windows, offset: Sequence[int]) -> Array:
    """The element at ``offset`` of every window: a strided view on a padded input."""
    cuts: tuple[Any, ...] = tuple(
        slice(o * d, o * d + (n - 1) * s + 1, s)
        for o, d, n, s in zip(offset, place.dilations, place.output, place.strides, strict=True)
    )
    return x[(Ellipsis, *cuts)]

"""What ONNX's convolutions and pooling mean, for proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.kernels.kept_elements import same_border
from isomorph.proof import spelled_windows as spell
from isomorph.proof import spelling
from isomorph.proof.term import NoMeaningError, Term

if TYPE_CHECKING:
    from isomorph.proof.calls import Call, Meaning


def _sizes(call: Call, name: str, spatial: int) -> list[int]:
    stated = call.attr(name)
    sizes = [int(each) for each in stated] if stated else [1] * spatial
    if len(sizes) != spatial or min(sizes) < 1:
        raise NoMeaningError(f"{name} that do not fit")
    return sizes


def _borders(
    call: Call, x: Term, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The widths of the border in front and behind, with ``auto_pad`` resolved."""
    spatial, mode = len(kernel), call.attr("auto_pad", "NOTSET")
    if mode == "VALID":
        return [0] * spatial, [0] * spatial
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        low, high = same_border(x.shape[2:], kernel, strides, dilations)
        before, after = (low, high) if mode == "SAME_UPPER" else (high, low)
        return before, after
    if mode != "NOTSET":
        raise NoMeaningError(f"auto_pad {mode}")
    pads = [int(each) for each in call.attr("pads") or [0] * 2 * spatial]
    if len(pads) != 2 * spatial or min(pads) < 0:
        raise NoMeaningError("borders that do not fit")
    return pads[:spatial], pads[spatial:]


def _conv(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    x, weight = call.x(0), call.x(1)
    spatial = x.rank - 2
    if tuple(call.attr("kernel_shape") or weight.shape[2:]) != weight.shape[2:]:
        raise NoMeaningError("a kernel of another size")
    strides, dilations = (_sizes(call, name, spatial) for name in ("strides", "dilations"))
    before, after = _borders(call, x, weight.shape[2:], strides, dilations)
    return (
        spell.convolution(
            call.terms, x, weight, call.optional(2), strides=strides, dilations=dilations,
            before=before, after=after, groups=int(call.attr("group", 1)),
        ),
    )  # fmt: skip


def _conv_transpose(call: Call) -> Sequence[Term]:
    call.only(2, 3)
    x, weight = call.x(0), call.x(1)
    spatial = x.rank - 2
    if tuple(call.attr("kernel_shape") or weight.shape[2:]) != weight.shape[2:]:
        raise NoMeaningError("a kernel of another size")
    strides, dilations = (_sizes(call, name, spatial) for name in ("strides", "dilations"))
    if call.attr("auto_pad", "NOTSET") != "NOTSET" or call.attr("output_shape"):
        raise NoMeaningError("an output shape that decides the border")
    pads = [int(each) for each in call.attr("pads") or [0] * 2 * spatial]
    added = [int(each) for each in call.attr("output_padding") or [0] * spatial]
    return (
        spell.transposed_convolution(
            call.terms, x, weight, call.optional(2), strides=strides, dilations=dilations,
            before=pads[:spatial],
            after=[p - extra for p, extra in zip(pads[spatial:], added, strict=True)],
            groups=int(call.attr("group", 1)),
        ),
    )  # fmt: skip


def _pool(call: Call) -> tuple[dict[str, list[int]], list[int]]:
    """Kernel, strides, dilations and borders, and how far the last windows reach beyond those."""
    x = call.x()
    kernel = [int(each) for each in call.needs("kernel_shape")]
    spatial = len(kernel)
    if x.rank != spatial + 2:
        raise NoMeaningError("a window that does not fit")
    strides, dilations = (_sizes(call, name, spatial) for name in ("strides", "dilations"))
    if call.attr("auto_pad", "NOTSET") != "NOTSET" and max(dilations) > 1:
        raise NoMeaningError("a border of a dilated window, which runtimes derive differently")
    before, after = _borders(call, x, kernel, strides, dilations)
    beyond = [0] * spatial
    if call.attr("ceil_mode", 0):
        if call.attr("auto_pad", "NOTSET") != "NOTSET":
            raise NoMeaningError("auto_pad with ceil_mode")
        for at, size in enumerate(x.shape[2:]):
            reach = (kernel[at] - 1) * dilations[at] + 1
            rest = size + before[at] + after[at] - reach
            windows = math.ceil(rest / strides[at]) + 1
            if (windows - 1) * strides[at] >= size + before[at]:
                # Operator sets and runtimes differ on a window that begins behind the tensor.
                raise NoMeaningError("a window behind the tensor")
            missing = (windows - 1) * strides[at] + reach - size - before[at] - after[at]
            beyond[at] = max(missing, 0)
    sizes = {"kernel": kernel, "strides": strides, "dilations": dilations}
    return {**sizes, "before": before, "after": after}, beyond


def _max_pool(call: Call) -> Sequence[Term]:
    call.only(1)
    if len([name for name in call.node.outputs if name]) > 1 or call.attr("storage_order", 0):
        raise NoMeaningError("the places of the largest elements")
    sizes, beyond = _pool(call)
    sizes["after"] = [wide + extra for wide, extra in zip(sizes["after"], beyond, strict=True)]
    return (spell.max_pool(call.terms, call.x(), **sizes),)


def _average_pool(call: Call) -> Sequence[Term]:
    call.only(1)
    sizes, beyond = _pool(call)
    if any(each != 1 for each in sizes.pop("dilations")):
        raise NoMeaningError("dilations of a mean")
    counted = None
    if call.attr("count_include_pad", 0):
        if any(beyond) and any(sizes["before"] + sizes["after"]) and call.opset.get("", 0) < 19:
            # Only from then on is it settled that what lies beyond a border does not count.
            raise NoMeaningError("a mean over a window that reaches beyond its border")
        counted = spell.counted(call.x(), **sizes, beyond=beyond)
    sizes["after"] = [wide + extra for wide, extra in zip(sizes["after"], beyond, strict=True)]
    return (spell.average_pool(call.terms, call.x(), counted=counted, **sizes),)


def _global(call: Call) -> tuple[int, ...]:
    call.only(1)
    if call.x().rank < 3:
        raise NoMeaningError("no axes to reduce")
    return tuple(range(2, call.x().rank))


WINDOWS: dict[str, Meaning] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": lambda call: (
        spelling.mean(call.terms, call.x(), _global(call), kept=True),
    ),
    "GlobalMaxPool": lambda call: (
        spelling.largest(call.terms, call.x(), _global(call), kept=True),
    ),
}

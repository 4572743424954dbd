"""Strides, dilations and pads of convolutions and poolings, as every framework spells them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.core.model import Node

Window = dict[str, tuple[int, ...]]

_WINDOWED = frozenset(
    {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "QLinearConv", "ConvInteger"}
)
_STEPS = {
    "strides": (
        ("strides", "stride", "window_strides"),
        (("stride_h", "stride_w"), ("stride_height", "stride_width")),
    ),
    "dilations": (
        ("dilations", "dilation", "rates", "rhs_dilation"),
        (("dilation_h_factor", "dilation_w_factor"), ("dilation_height", "dilation_width")),
    ),
}
"""What is counted along each spatial axis: as a list, or as one attribute for each axis."""
_PADS_OF_ENDS = ("padding_top", "padding_left", "padding_bottom", "padding_right")
_WORDS_WITHOUT_PADS = ("VALID", "valid")


def window(node: Node) -> Window:
    """What a node states along its spatial axes; pads of all beginnings stand before the ends.

    What it leaves to the runtime, such as pads that follow from the size of the input, is absent.
    """
    if node.op not in _WINDOWED:
        return {}
    stated = node.attributes
    found: Window = {}
    for word, (lists, singles) in _STEPS.items():
        steps = next((v for n in lists if (v := _integers(stated.get(n)))), None)
        if steps is not None:
            found[word] = _spatial(steps, stated)
            continue
        for names in singles:
            values = _integers([stated.get(name) for name in names])
            if values is not None:
                found[word] = values
    pads = _pads(stated, len(found.get("strides", found.get("dilations", ()))))
    if pads is not None:
        found["pads"] = pads
    return found


def _pads(stated: Mapping[str, Any], axes: int) -> tuple[int, ...] | None:
    automatic = stated.get("auto_pad", "NOTSET")
    if automatic in _WORDS_WITHOUT_PADS or stated.get("padding") in _WORDS_WITHOUT_PADS:
        return (0,) * (2 * axes) if axes else None
    if automatic not in ("NOTSET", ""):
        return None
    ends = _integers([stated.get(name) for name in _PADS_OF_ENDS])
    if ends is not None:
        return ends
    for name in ("pads", "padding", "pad"):
        value = stated.get(name)
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple)):
            # Pairs of a beginning and an end, one for each axis.
            value = [each[end] for end in (0, 1) for each in value if len(each) == 2]
        pads = _integers(value)
        if pads is not None:
            return pads + pads if len(pads) == axes else pads
    return None


def _spatial(steps: tuple[int, ...], stated: Mapping[str, Any]) -> tuple[int, ...]:
    """Steps without those of the batch and the channels, where these are stated as well."""
    order = stated.get("data_format")
    if not isinstance(order, str) or len(order) != len(steps):
        return steps
    return tuple(step for step, axis in zip(steps, order, strict=True) if axis not in "NC")


def _integers(value: Iterable[Any] | None) -> tuple[int, ...] | None:
    if not isinstance(value, (list, tuple)) or not value:
        return None
    return tuple(value) if all(type(each) is int for each in value) else None

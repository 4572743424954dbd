"""What the converters to OpenVINO have in common: the width of what is saved, how it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isomorph.core.conversion import AS_IS, Order

PROVEN_AS: tuple[str, Mapping[str, str]] = ("openvino", {"precision": "f32"})
"""OpenVINO computes in bfloat16 on some processors, so the result is judged in float32."""

WIDTHS = frozenset({AS_IS, "float16"})
INSTALL = "pip install 'isomorph[openvino]'"
LOSES = ("the precision: compile it with the hint f32",)


def save(openvino: Any, model: Any, order: Order) -> str:  # noqa: ANN401
    """Write .xml and .bin; OpenVINO saves weights in float16 by default."""
    narrow = order.width == "float16"
    openvino.save_model(model, order.target, compress_to_fp16=narrow)
    return "weights in float16, computed in float32" if narrow else "weights as they were"

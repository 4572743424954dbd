"""What both converters to OpenVINO need: files in full precision, seen to compute the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isomorph.core.conversion import Order
from isomorph.core.errors import RuntimeFailedError

PROVEN_AS: tuple[str, Mapping[str, str]] = ("openvino", {"precision": "f32"})
"""The source stands for the files, run in this runtime with these settings."""

_FULL = {"INFERENCE_PRECISION_HINT": "f32"}


def written(openvino: Any, model: Any, order: Order, beside: Any, origin: str) -> str:  # noqa: ANN401
    """Write .xml and .bin of ``model``, then run them ``beside`` their origin; what was seen.

    OpenVINO saves weights in float16 by default, and computes in bfloat16 on some processors.
    """
    openvino.save_model(model, order.target, compress_to_fp16=False)
    core = openvino.Core()
    before, after = (_run(core, each, order.example) for each in (beside, order.target))
    if [each.tobytes() for each in before] != [each.tobytes() for each in after]:
        raise RuntimeFailedError(
            "CONVERTER_FAILED",
            f"OpenVINO's files compute something else than {origin} in OpenVINO",
            file=Path(order.target).name,
            fix="deploy what they were written from: OpenVINO reads it",
        )
    return f"the same bits as {origin} in OpenVINO, both with the precision hint f32"


def _run(core: Any, model: Any, example: str) -> list[Any]:  # noqa: ANN401
    import numpy as np

    network = core.read_model(model) if isinstance(model, str) else model
    compiled = core.compile_model(network, "CPU", _FULL)
    with np.load(example, allow_pickle=False) as arrays:
        results = compiled({name: arrays[name] for name in arrays.files})
    return [results[output] for output in compiled.outputs]

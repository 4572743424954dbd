"""What both quantizers of ONNX Runtime need: a model with shapes, and samples to calibrate on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from isomorph.converters._onnx_names import renamed
from isomorph.core.conversion import Order, Workaround

UNPREPARED = Workaround(
    name="without preparation",
    description="quantized without preprocessing and without declared shapes",
    options={"infer": "no"},
)
"""For models on which ONNX Runtime's own preparation stumbles."""

RENAMED = Workaround(
    name="plain names",
    description="tensors and nodes inside were given plain names before they were quantized",
    options={"names": "plain"},
)
"""For models whose names meet those that ONNX Runtime makes up: two tensors become one."""

PER_TENSOR = Workaround(
    name="one scale for each weight",
    description="each weight has one scale for all of its channels",
    options={"channels": "together"},
)
"""For operator sets and operators that know no scale per channel."""

SEVEN_BITS = Workaround(
    name="signed weights of 7 bits",
    description="weights are signed and use 7 of their 8 bits, so that no product saturates",
    options={"weights": "7 bits"},
    for_divergent=True,
)
"""For runtimes that take signed weights only."""

SIGNED = Workaround(
    name="signed weights of 8 bits",
    description="weights are signed and use all 8 bits",
    options={"weights": "signed"},
    for_divergent=True,
)
"""Where 7 bits lose too much; on some CPUs its products saturate, and the check finds that."""

WORKAROUNDS = (UNPREPARED, RENAMED, PER_TENSOR, SEVEN_BITS, SIGNED)


def weight_options(order: Order) -> dict[str, Any]:
    """How weights are stored: unsigned in 8 bits, channel by channel, unless a workaround differs.

    ONNX Runtime multiplies unsigned bytes with signed ones by instructions that saturate on x86
    CPUs without VNNI, and unsigned with unsigned ones exactly on every CPU. Weights of 7 bits do
    not saturate either, and lose up to 3 dB more.
    """
    from onnxruntime.quantization import QuantType

    stated = order.options.get("weights")
    return {
        "weight_type": QuantType.QInt8 if stated else QuantType.QUInt8,
        "reduce_range": stated == "7 bits",
        "per_channel": order.options.get("channels") != "together",
    }


def prepared(order: Order) -> str:
    """The source with its shapes inferred anew, as the quantizers want it, or without any."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    path = str(Path(order.target).with_name("prepared.onnx"))
    if order.options.get("infer") == "no":
        return _without_shapes(order.source, path)
    plain = order.options.get("names") == "plain"
    source = _with_plain_names(order.source, f"{path}.named") if plain else order.source
    quant_pre_process(source, path, skip_symbolic_shape=True)
    return path


def _without_shapes(source: str, path: str) -> str:
    """A copy without the shapes declared inside: inferred ones that differ would be refused."""
    import onnx

    model = onnx.load(source)
    del model.graph.value_info[:]
    onnx.save(model, path)
    return path


def _with_plain_names(source: str, path: str) -> str:
    """A copy in which only inputs and outputs keep their names."""
    import onnx

    model = onnx.load(source)
    kept = {each.name for each in (*model.graph.input, *model.graph.output)}
    places = count()
    renamed(model, lambda name: name if name in kept else f"t{next(places)}")
    for place, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{place}"
    onnx.save(model, path)
    return path


class Samples:
    """The order's samples, one at a time, as ONNX Runtime's calibration reads them."""

    def __init__(self, order: Order) -> None:
        self._left = self._arrays(order)

    def get_next(self) -> dict[str, Any] | None:
        """The next sample, or None after the last."""
        return next(self._left, None)

    def set_range(self, start_index: int, end_index: int) -> None:
        """Nothing: all samples are always read."""

    def _arrays(self, order: Order) -> Iterator[dict[str, Any]]:
        import numpy as np

        for path in order.samples:
            with np.load(path, allow_pickle=False) as arrays:
                yield {name: arrays[name] for name in arrays.files}

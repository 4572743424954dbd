"""Whether inputs are within the ranges that a quantized model was calibrated for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import FALSE_ALARM, beyond_another
from isomorph.match.quantizers import quantization_by_tensor
from isomorph.sessions.dequantized_session import clipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.core.model import Graph, Quantization
    from isomorph.core.trace import Array, Arrays


def beyond_calibration(graph: Graph, feeds: Arrays) -> bool:
    """Whether more of an input lies beyond its quantization range than chance explains."""
    return any(
        beyond_another(round(clipped(real, grid) * real.size), real.size) < FALSE_ALARM
        for real, grid in _fed(graph, feeds)
    )


def _fed(graph: Graph, feeds: Arrays) -> Iterator[tuple[Array, Quantization]]:
    """Yield the real values of quantized inputs, each with its quantization."""
    for name, grid in _of_inputs(graph).items():
        real = np.asarray(feeds.get(name))
        if real.dtype.kind == "f":
            yield real, grid


def _of_inputs(graph: Graph) -> dict[str, Quantization]:
    """Return the quantization of each input, its own or that of the node that reads it."""
    writers = quantization_by_tensor(graph)
    names = {spec.name for spec in graph.inputs}
    found = {name: writers[name] for name in names if name in writers}
    for node in graph.nodes:
        source = node.inputs[0] if node.inputs else None
        if node.op == "QuantizeLinear" and source in names and node.outputs[0] in writers:
            found.setdefault(str(source), writers[node.outputs[0]])
    return {name: entry for name, entry in found.items() if len(entry.scale) == 1}

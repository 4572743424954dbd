"""A quantizer whose range is too narrow for the values that it gets, while all others fit.

A calibrator may clip rare values on purpose, and data may be larger than what it was calibrated
on. Here one quantizer alone clips many values, loses bits that an ideal quantizer of its width
keeps, and causes most of the error of the outputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.stated_numbers import CLIPPED_SHARE, LOST_BITS
from isomorph.match.topology import Topology
from isomorph.measure.quantizer_ablation import gain_together
from isomorph.measure.quantizer_stats import Audit

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.model import Graph
    from isomorph.core.quantized_tensor import QuantizedTensor
    from isomorph.measure.evaluated_model import EvaluatedModel

_DECIBELS_OF_A_BIT = 20.0 * math.log10(2.0)
_MOST = 1.0 - math.sqrt(0.5)
"""The gain from which on a quantizer adds more to an error than all other causes: the effects of
independent causes add up in squares."""


def narrow_range(
    rows: Sequence[QuantizedTensor],
    candidate: EvaluatedModel,
    reference: EvaluatedModel,
    outputs: Sequence[Divergence],
) -> QuantizedTensor | None:
    """Return the quantizer whose range alone is too narrow, with its gain; None if there is none.

    ``rows`` are those of the quantization table of this sample.
    """
    suspects = _suspects(rows, candidate.model.graph)
    if not suspects:
        return None
    audit = Audit(candidate, reference)
    entries = [audit.writers[each.tensor] for each in suspects]
    gain = gain_together(audit, outputs, entries)
    return replace(suspects[0], gain=gain) if gain is not None and gain > _MOST else None


def _suspects(rows: Sequence[QuantizedTensor], graph: Graph) -> list[QuantizedTensor]:
    """Return the only quantizer that clips many values, and those behind it with its very grid.

    Others behind it may clip along. In the order of the graph.
    """
    flowing = [each for each in rows if each.kind == "activation" and not each.misread]
    clipping = {e.tensor: e for e in flowing if (e.clipped or 0.0) > CLIPPED_SHARE}
    topology = Topology(graph)
    ordered = [name for node in graph.nodes for name in node.outputs if name in clipping]
    if not ordered or len(ordered) < len(clipping):
        return []  # none, or an input of the model
    first = clipping[ordered[0]]
    if not clipping.keys() <= {first.tensor, *topology.below([first.tensor])}:
        return []
    if first.lost_db <= LOST_BITS * _DECIBELS_OF_A_BIT:
        return []
    if topology.maker[first.tensor].inputs[0] in {spec.name for spec in graph.inputs}:
        return []  # the given values are larger than those it was calibrated on
    same = {e.tensor for e in flowing if (e.scale, e.zero_point) == (first.scale, first.zero_point)}
    below = topology.below([first.tensor])
    tensors = [name for node in graph.nodes for name in node.outputs if name in same & below]
    found = {each.tensor: each for each in flowing}
    return [first, *(found[name] for name in tensors)]

"""All faults that are planted: in which form of a decoder, and by which causes they are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx

from decoders import float_faults as floats
from decoders import weight_faults as weights
from decoders.edited_graph import EditedGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """One change of one form; ``causes`` are the answers that describe it.

    What no run can show is ``equivalent``, with a finding that names the node.
    """

    name: str
    plant: Callable[[EditedGraph], None]
    causes: frozenset[str]
    form: str = "export"
    verdict: str = "divergent"

    def written(self, source: Path, target: Path) -> list[str]:
        """Write the changed form; the names of the nodes at fault."""
        graph = EditedGraph(onnx.load(source))
        self.plant(graph)
        onnx.save(graph.model, target)
        return graph.changed


def _fault(
    name: str,
    plant: Callable[[EditedGraph], None],
    *causes: str,
    form: str = "export",
    verdict: str = "divergent",
) -> PlantedFault:
    return PlantedFault(
        name=name, plant=plant, causes=frozenset(causes), form=form, verdict=verdict
    )


# A node that is not the reference's is named by what is between: an operator that lacks or is too
# many, a size, an order, or an attribute where one operator took the place of another.
FAULTS = (
    _fault("positions off by one", floats.positions_off_by_one, "missing_op"),
    _fault("rotation base", floats.rotation_base, "weight"),
    _fault("interleaved pairs", floats.interleaved_pairs, "layout", "attribute"),
    _fault("turned backward", floats.turned_backward, "attribute", "layout", "missing_op"),
    _fault("keys not rotated", floats.unrotated_keys, "missing_op", "layout"),
    _fault("head repeat order", floats.tiled_heads, "layout", "attribute"),
    _fault("new positions first", floats.new_positions_first, "layout"),
    _fault("sees the next token", floats.sees_the_next, "missing_op"),
    _fault("sees no own token", floats.sees_no_own, "missing_op", "attribute"),
    _fault("ignores the mask", floats.ignores_the_mask, "missing_op", "interface"),
    _fault("attention scale", floats.attention_scale, "attribute", "weight"),
    _fault("softcap", floats.softcap, "missing_op"),
    _fault("softmax axis", floats.softmax_axis, "attribute"),
    _fault("epsilon of one layer", floats.epsilon, "attribute", verdict="equivalent"),
    _fault("stale tied embedding", floats.stale_tied_embedding, "weight"),
    _fault("cache short by one", floats.short_cache, "missing_op", "attribute", "shape"),
    _fault("keys and values swapped", floats.swapped_parts, "layout"),
    _fault("caches of two layers swapped", floats.swapped_layers, "layout"),
    _fault("residual scale", floats.residual_scale, "missing_op"),
    _fault("another gate", floats.sigmoid_gelu, "missing_op", "attribute"),
    _fault("one layer through bfloat16", weights.rounded_layer, "weight"),
    _fault("gate and up swapped", weights.swapped_gate, "weight"),
    _fault("norm minus one", weights.norm_plus_one, "weight"),
    _fault("rows of keys permuted", weights.permuted_heads, "weight", "layout"),
    _fault("int4 packing order", weights.packing_order, "weight", "quantization", form="int4"),
    _fault("int4 group axis", weights.group_axis, "weight", "quantization", form="int4"),
    _fault("int4 zero point", weights.shifted_zero_point, "weight", "quantization", form="int4"),
    # The node declares what it loses, so that its loss is no fault of the function.
    _fault(
        "int4 accuracy level 4",
        weights.accuracy_level,
        "precision",
        form="int4",
        verdict="degraded",
    ),
    _fault("int4 attention scale", floats.attention_scale, "attribute", "weight", form="int4"),
    _fault("int8 scales shifted", weights.int8_scale, "weight", "quantization", form="int8"),
    _fault("int8 zero point", weights.int8_zero_point, "weight", "quantization", form="int8"),
    _fault("int8 head repeat order", floats.tiled_heads, "layout", "attribute", form="int8"),
    _fault("float16 attention scale", floats.attention_scale, "attribute", form="float16"),
    _fault("float16 new positions first", floats.new_positions_first, "layout", form="float16"),
)

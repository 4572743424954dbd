"""Scale and zero point that fit the values, with the width and granularity kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import AddConstant, Edit, Patch, SetAttribute, SetConstant, SetInput
from isomorph.core.report import Fact
from isomorph.diagnose.node_constants import stored_constant
from isomorph.diagnose.parameters import unused_name
from isomorph.fixes._bias_scale import same_scale, stated_by_the_others, stated_scale
from isomorph.fixes._integer_biases import integer_biases
from isomorph.fixes._neighbors import neighbors
from isomorph.fixes._numbers import apart
from isomorph.fixes._packed_scales import packed_scales
from isomorph.fixes._read_grids import shifted_zeros, writer_grids
from isomorph.fixes._tensor_grids import on_other_grids
from isomorph.fixes._ties import halves
from isomorph.fixes._weight_scales import fitted_scales
from isomorph.match.dequantized_graph import implicit_grids

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding
    from isomorph.core.trace import Array

# Where scale and zero point of the first output, or of the only input, stand.
_PARAMETERS = {"QuantizeLinear": (1, 2), "DequantizeLinear": (1, 2), "QLinearConv": (6, 7),
               "QLinearMatMul": (6, 7), "QLinearAdd": (6, 7), "QLinearMul": (6, 7)}  # fmt: skip


class Quantization:
    """The quantizer calibrated again on what it sees: its zero point, its scale, or both.

    Quantizer and dequantizer of one tensor are changed together, and stay what they are: the
    model is repaired, not made wider.
    """

    name = "quantization"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """What the model itself states first; then by what is lost, as several may do."""
        if finding.fact(Fact.REFERENCE_TIES) is not None:
            yield from halves(context, finding.fact(Fact.REFERENCE_TIES))
        yield from packed_scales(context)
        yield from integer_biases(context)
        yield from _by_what_is_lost(context, on_other_grids(context))
        if implicit_grids(context.candidate):
            return
        yield from writer_grids(context)
        yield from shifted_zeros(context)
        nodes = [node for node in neighbors(context, depth=1) if node.op in _PARAMETERS]
        yield from _stated(context, nodes)
        yield from _by_what_is_lost(context, _patches(context, nodes))


def _by_what_is_lost(context: FaultContext, proposals: Iterator[Patch]) -> Iterator[Patch]:
    patches = list(proposals)
    errors = [apart(context.right, context.rehearse(patch)) for patch in patches]
    order = sorted(range(len(patches)), key=lambda place: errors[place])
    yield from (patches[place] for place in order if np.isfinite(errors[place]))


def _patches(context: FaultContext, nodes: list[Node]) -> Iterator[Patch]:
    """One parameter before two; a parameter that only one of the pair has, first."""
    yield from _one_of_the_pair(context, nodes)
    yield from _axes(context, nodes)
    yield from _other_sign(context, nodes)
    for node in nodes:
        seen = _seen(context, node)
        if seen is not None:
            yield from _calibrated(context, [node, *_partners(nodes, node)], seen)
    for node in neighbors(context, depth=1):
        for name, value, ref_name in fitted_scales(context, node):
            yield _set(
                {name: value},
                message(
                    "PATCH.set_scale",
                    name=name,
                    scale=message("PATCH.scale_fitted", right=ref_name),
                ),
            )


def _stated(context: FaultContext, nodes: list[Node]) -> Iterator[Patch]:
    """The scale that the biases behind a tensor were made for, and those of weights and biases.

    Where a quantizer and a dequantizer agree, the weight or the bias is likelier to be wrong and
    is tried before the two.
    """
    late: list[Patch] = []
    for node in nodes:
        stated = stated_scale(context, node.outputs[0]) if node.op == "DequantizeLinear" else None
        if stated is None:
            continue
        pair = [node, *_partners(list(neighbors(context, depth=2)), node)]
        scales = {
            name: stored_constant(context, name) for name in (_names(each)[0] for each in pair)
        }
        known = {name: float(v.reshape(-1)[0]) for name, v in scales.items() if v is not None}
        # One of the two may have it to the last digit, and the quotient has not.
        exact = next((value for value in known.values() if same_scale(value, stated)), None)
        wrong = {name: scales[name] for name, v in known.items() if not same_scale(v, stated)}
        better = stated if exact is None else exact
        values = {name: np.full(v.shape, better) for name, v in wrong.items() if v is not None}
        scale = message("PATCH.scale_of_bias", scale=better)
        words = message("PATCH.grid", tensor=node.inputs[0], change=scale)
        if values:
            late.append(_set(values, words))
        if values and exact is not None:
            yield late.pop()
    for name, value in stated_by_the_others(context):
        yield _set(
            {name: value},
            message("PATCH.set_scale", name=name, scale=message("PATCH.scale_of_product")),
        )
    yield from late


def _partners(nodes: list[Node], node: Node) -> list[Node]:
    """The quantizer or dequantizers of the same tensor, which must keep in step."""
    return [
        each
        for each in nodes
        if each is not node
        and (each.inputs[0] in node.outputs or node.inputs[0] in each.outputs)
        and {each.op, node.op} == {"QuantizeLinear", "DequantizeLinear"}
    ]


def _names(node: Node) -> tuple[str, str]:
    places = _PARAMETERS[node.op]
    read = [node.input(place) for place in places]
    return read[0], read[1]


def _set(values: Mapping[str, Array], words: str) -> Patch:
    edits = tuple(SetConstant(tensor=name, value=value) for name, value in values.items())
    return Patch(summary=words, edits=edits)


def _one_of_the_pair(context: FaultContext, nodes: list[Node]) -> Iterator[Patch]:
    """Quantizer and dequantizer of one tensor that do not agree: the one as the other."""
    for first in nodes:
        for second in nodes:
            if first is second:
                continue
            for cand, ref in zip(_names(first), _names(second), strict=True):
                here, there = stored_constant(context, cand), stored_constant(context, ref)
                if here is None or there is None or cand == ref or here.shape != there.shape:
                    continue
                if not np.array_equal(here, there):
                    yield _set(
                        {cand: there},
                        message(
                            "PATCH.same_value", op=first.op, node=first.name, name=cand, right=ref
                        ),
                    )


def _axes(context: FaultContext, nodes: list[Node]) -> Iterator[Patch]:
    for node in nodes:
        scale = stored_constant(context, _names(node)[0])
        spec = context.candidate.tensors.get(node.inputs[0])
        if scale is None or scale.size == 1 or spec is None or spec.shape is None:
            continue
        now = node.attributes.get("axis")
        for axis, size in enumerate(spec.shape):
            if size == scale.size and axis != now:
                change = message("PATCH.change", name="axis", now=now, right=axis)
                yield Patch(
                    summary=message("PATCH.parameters", op=node.op, node=node.name, changes=change),
                    edits=(SetAttribute(node=node.name, name="axis", value=axis),),
                )


def _other_sign(context: FaultContext, nodes: list[Node]) -> Iterator[Patch]:
    """Stored bytes taken for signed instead of unsigned, or the reverse."""
    for node in nodes:
        weight, kinds = stored_constant(context, node.inputs[0]), {"int8": "uint8", "uint8": "int8"}
        now = context.candidate.constants[node.inputs[0]].dtype if weight is not None else ""
        if weight is None or node.op != "DequantizeLinear" or now not in kinds:
            continue
        zero_name = _names(node)[1]
        zero = stored_constant(context, zero_name)
        edits: list[Edit] = []
        for place, name, value in ((0, node.inputs[0], weight), (2, zero_name, zero)):
            if value is not None:
                own = unused_name(context, f"{name}_{kinds[now]}")
                turned = np.ascontiguousarray(value.astype(now)).view(kinds[now])
                edits.append(AddConstant(name=own, value=turned.reshape(value.shape)))
                edits.append(SetInput(node=node.name, index=place, tensor=own))
        yield Patch(
            summary=message(
                "PATCH.signedness",
                op=node.op,
                node=node.name,
                tensor=node.inputs[0],
                right=kinds[now],
                now=now,
            ),
            edits=tuple(edits),
        )


def _seen(context: FaultContext, node: Node) -> Array | None:
    """The real values that this quantizer should let through."""
    if node.op == "DequantizeLinear" and node.outputs[0] == context.tensor:
        return context.right.astype(np.float64)
    if node.op == "QuantizeLinear":
        return context.value(context.candidate, node.inputs[0])
    return context.right.astype(np.float64) if context.tensor in node.outputs else None


def _calibrated(context: FaultContext, nodes: list[Node], seen: Array) -> Iterator[Patch]:
    """The zero point moved, the scale fitted, or both, in quantizer and dequantizer."""
    scale_name, zero_name = _names(nodes[0])
    scale, zero = stored_constant(context, scale_name), stored_constant(context, zero_name)
    if scale is None or scale.size != 1 or not seen.size or not np.isfinite(seen).all():
        return
    low, high = min(0.0, float(seen.min())), max(0.0, float(seen.max()))
    kind = np.dtype(context.candidate.constants[zero_name].dtype if zero is not None else np.uint8)
    ends = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    step, place = float(scale.reshape(-1)[0]), int(zero.reshape(-1)[0]) if zero is not None else 0
    found: list[tuple[float | None, int | None]] = []
    if zero is not None:
        found += [(None, better) for better in _zero_points(low, high, step, ends)]
    fitting = max(_ratio(high, ends[1] - place), _ratio(-low, place - ends[0]))
    found += [(fitting, None)] if fitting > 0 else []
    if zero is not None and high > low:
        wide = (high - low) / (ends[1] - ends[0])
        found.append((wide, int(np.clip(round(ends[0] - low / wide), *ends))))
    for better_step, better_place in found:
        words = []
        if better_step is not None:
            words.append(message("PATCH.scale_from", now=step, right=better_step))
        if better_place is not None:
            words.append(message("PATCH.zero_from", now=place, right=better_place))
        values = _everywhere(context, nodes, better_step, better_place)
        if values:
            tensor, change = nodes[0].inputs[0], ", ".join(words)
            yield _set(values, message("PATCH.quantizer", tensor=tensor, change=change))


def _everywhere(
    context: FaultContext, nodes: list[Node], step: float | None, place: int | None
) -> dict[str, Array]:
    """The constants to change in all of the nodes; those that have the value already stay."""
    values: dict[str, Array] = {}
    for node in nodes:
        for name, number in zip(_names(node), (step, place), strict=True):
            now = stored_constant(context, name)
            if now is not None and number is not None:
                whole = np.full(now.shape, number, np.float64)
                if not np.array_equal(whole, now):
                    values[name] = whole
    return values


def _ratio(extent: float, steps: int) -> float:
    return extent / steps if extent > 0 and steps > 0 else 0.0


def _zero_points(low: float, high: float, step: float, ends: tuple[int, int]) -> list[int]:
    """Zero points under which the range seen fits, by what is usual: an end, the middle, exact."""
    least, most = ends
    middle = (least + most + 1) // 2
    exact = [round(least - low / step), round(most - high / step)]
    found = [least, 0, middle, *exact] if step > 0 else [least, 0, middle]
    return [each for each in dict.fromkeys(found) if least <= each <= most]

"""The parameter that the reference states, or the one that the data shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import Edit, Patch, SetAttribute
from isomorph.diagnose import node_constants
from isomorph.diagnose.parameter_values import combined_changes, shifted_slices, single_changes
from isomorph.diagnose.parameters import (
    constant_edits,
    current,
    parameter,
    parameter_places,
    shortest_decimal,
)
from isomorph.diagnose.reference_attributes import stated_attributes, stated_inputs
from isomorph.fixes._forms import exact_gelu, over_its_own_axes
from isomorph.fixes._numbers import apart, decimals, fitted
from isomorph.match.attributes import SAME_MEANING
from isomorph.oracle.fingerprint import FLOAT64_ORDER, fingerprint
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding

_BOUNDARIES = frozenset({"starts", "ends", "steps", "begin", "end", "size"})


class Attribute:
    """Set an attribute, or the input that has taken its place, to the right value.

    First the counterpart's values; then every other meaningful word, flag, axis or pad; an
    approximate form made exact; then real numbers, read off the values themselves; last, several
    words together.
    """

    name = "attribute"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """From cheap and likely to wide."""
        for node in _in_question(context):
            yield from _from_reference(context, node)
        for node in _in_question(context):
            yield from _bounds(context, node)
            for name, value in single_changes(context, node, _rank(context, node)):
                yield _patch(context, node, {name: value})
            for values in shifted_slices(context, node):
                yield _patch(context, node, values)
        yield from exact_gelu(context)
        yield from over_its_own_axes(context)
        for node in _in_question(context):
            yield from _moved(context, node)
            yield from _numbers(context, node)
        yield from _scalars(context)
        for node in _in_question(context):
            for values in combined_changes(context, node, _rank(context, node)):
                yield _patch(context, node, values)


def _in_question(context: FaultContext) -> list[Node]:
    return [context.node, *(node for node in context.nodes if node.name != context.node.name)]


def _rank(context: FaultContext, node: Node) -> int:
    spec = context.candidate.tensors.get(node.inputs[0]) if node.inputs else None
    if spec is not None and spec.shape is not None:
        return len(spec.shape)
    value = context.value(context.candidate, node.inputs[0]) if node.inputs else None
    return value.ndim if value is not None else context.right.ndim


def _patch(context: FaultContext, node: Node, values: dict[str, Any]) -> Patch:
    edits: tuple[Edit, ...] = ()
    for name, value in values.items():
        edits += parameter(context, node, name, value)
    words = ", ".join(
        message(
            "PATCH.change", name=name, now=_short(current(context, node, name)), right=_short(value)
        )
        for name, value in values.items()
    )
    return Patch(
        summary=message("PATCH.parameters", op=node.op, node=node.name, changes=words), edits=edits
    )


def _short(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, np.ndarray):
        return message("PATCH.reference_value")
    return shortest_decimal(value) if isinstance(value, float) else str(value)


def _from_reference(context: FaultContext, node: Node) -> Iterator[Patch]:
    """Each parameter that the counterpart states otherwise, then all of them at once."""
    stated: dict[str, Any] = {}
    for name, value in (
        *stated_attributes(context, node, stored=True),
        *stated_inputs(context, node),
    ):
        stated.setdefault(name, value)
        yield _patch(context, node, {name: value})
    if len(stated) > 1:
        yield _patch(context, node, stated)
    yield from _left_out(context, node)


def _left_out(context: FaultContext, node: Node) -> Iterator[Patch]:
    """Remove float attributes that the same operator does not state in the reference."""
    same = [each for each in context.counterparts if each.op == node.op]
    named = {
        SAME_MEANING.get(k, k) for each in same for k, v in each.attributes.items() if v is not None
    }
    own_options = operator_tables(context.candidate.framework).own_options
    for name, value in node.attributes.items() if same and not own_options else ():
        if isinstance(value, float) and name not in named:
            yield Patch(
                summary=message(
                    "PATCH.default", op=node.op, node=node.name, name=name, now=_short(value)
                ),
                edits=(SetAttribute(node=node.name, name=name, value=None),),
            )


def _bounds(context: FaultContext, node: Node) -> Iterator[Patch]:
    """The bounds of a Clip are the extremes that its right values reach more than once."""
    if node.op != "Clip" or context.right.size < 2:
        return
    flat = np.sort(context.right.reshape(-1))
    bounds: dict[str, Any] = {}
    for name, edge, beside in (("min", flat[0], flat[1]), ("max", flat[-1], flat[-2])):
        if edge == beside:
            # The shortest number that the file stores as this one.
            same = (v for v in decimals(float(edge)) if np.float32(v) == np.float32(edge))
            bounds[name] = next(same, float(edge))
            yield _patch(context, node, {name: bounds[name]})
    if len(bounds) > 1:
        yield _patch(context, node, bounds)


def _moved(context: FaultContext, node: Node) -> Iterator[Patch]:
    """Where a slice begins, ends and how far it steps, moved by one or two."""
    for name in _BOUNDARIES & {*node.attributes, *parameter_places(context.candidate, node)}:
        now = current(context, node, name)
        for place in range(len(now)) if isinstance(now, (tuple, list)) else ():
            for by in (-1, 1, -2, 2):
                moved = (*now[:place], now[place] + by, *now[place + 1 :])
                yield _patch(context, node, {name: moved})


def _numbers(context: FaultContext, node: Node) -> Iterator[Patch]:
    """Real parameters, one at a time, at the value where the error is least."""
    names = [*node.attributes, *parameter_places(context.candidate, node)]
    for name in dict.fromkeys(names):
        now = current(context, node, name)
        if not isinstance(now, float) or not np.isfinite(now):
            continue

        def error(value: float, name: str = name) -> float:
            return apart(context.right, context.rehearse(_patch(context, node, {name: value})))

        for value in _helping(error, now, _floor(context)):
            yield _patch(context, node, {name: value})


def _helping(error: Any, now: float, floor: float) -> Iterator[float]:  # noqa: ANN401
    """Nothing where the parameter does not move the result at all."""
    here, there = error(now), error(now * 1.5 + 0.1)
    if np.isfinite(here) and here != there:
        yield from fitted(error, now, floor=floor)


def _floor(context: FaultContext) -> float:
    """What float64 itself makes of two ways to the same values."""
    size = fingerprint(context.right).rms
    return FLOAT64_ORDER * size if np.isfinite(size) else 0.0


def _scalars(context: FaultContext) -> Iterator[Patch]:
    """Single numbers that the faulty nodes read: the parameters of a decomposed operator.

    Numbers of the counterpart are tried first, then what the data shows.
    """
    stated = [
        float(value)
        for node in context.counterparts
        for value in node.attributes.values()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    for name in node_constants.floats(context.reference, context.counterparts):
        values = context.reference.constants[name].values
        stated += [float(values[0])] if values is not None and len(values) == 1 else []
    # A scale is not free to be fitted: it belongs to a grid (see the fix for quantizers).
    grids = [n for n in context.candidate.nodes if n.op in {"QuantizeLinear", "DequantizeLinear"}]
    scales = {name for node in grids for name in node.inputs[1:]}
    for name in node_constants.floats(context.candidate, context.nodes):
        constant = context.candidate.constants[name]
        if constant.values is None or len(constant.values) != 1 or name in scales:
            continue
        now = float(constant.values[0])
        for value in dict.fromkeys(stated):
            if value != now:
                yield _scalar(context, name, now, value)

        def error(value: float, name: str = name, now: float = now) -> float:
            return apart(context.right, context.rehearse(_scalar(context, name, now, value)))

        for value in _helping(error, now, _floor(context)):
            yield _scalar(context, name, now, value)


def _scalar(context: FaultContext, name: str, now: float, value: float) -> Patch:
    constant = context.candidate.constants[name]
    array = np.full(constant.shape, value, np.float64)
    return Patch(
        summary=message(
            "PATCH.number", name=name, now=shortest_decimal(now), right=shortest_decimal(value)
        ),
        edits=constant_edits(context, name, array),
    )

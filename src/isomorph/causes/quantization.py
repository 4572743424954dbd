"""Scale, zero point, axis or range of a quantizer do not fit the values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import QUANTIZED_AXES, WASTED_STEPS
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Detail, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetAttribute
from isomorph.core.report import Experiment, Fact
from isomorph.core.stated_numbers import CLIPPED_SHARE
from isomorph.diagnose import tensor_grids
from isomorph.diagnose.packed_weights import MisreadNode, misread_weights
from isomorph.diagnose.rounding_ties import rounding_places, ties
from isomorph.kernels.quantized import limits
from isomorph.measure.precision import QUANTIZED_OPS
from isomorph.sessions.dequantized_session import reach

if TYPE_CHECKING:
    from isomorph.core.trace import Array

"""Steps of seven bits: a quantizer that uses fewer wastes at least one of its eight bits."""


class Quantization:
    """A quantizer loses more than its width has to.

    Recognized where the first wrong tensor comes out of a quantizer or of quantized arithmetic
    although what goes in is right: its range cuts values off, its scale or zero point is another
    number, its scales lie along another axis, the scale of a bias is not that of the product it
    is added to, or stored integers read through their grid are not the reference's weight. Weights
    that are packed in blocks are read with other orders, zero points and axes of groups.
    """

    name = "quantization"
    sites = frozenset({FaultSite.GRAPH, FaultSite.GRID})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Correct one parameter after the other in the oracle; then describe what is lost."""
        misread = [_misread(reading) for reading in misread_weights(context)]
        if misread:
            yield from misread
            return
        ops = sorted({node.op for node in context.nodes} & QUANTIZED_OPS)
        rounds = ops or next(rounding_places(context), None) is not None
        if (
            not rounds
            and tensor_grids.step(context) is None
            and not tensor_grids.stored_weights(context)
        ):
            return
        found = (
            _no_step(context)
            or _axis(context)
            or _stored(context)
            or ties(context)
            or _affine(context)
            or _cut_off(context)
        )
        if found is not None:
            yield found
            return
        bias = tensor_grids.bias_scale(context)
        if bias is not None:
            yield Diagnosis(
                cause="quantization",
                certainty=Certainty.VISIBLE,
                summary=bias,
                evidence={Fact.OPERATORS: ops},
                fix=message("FIX.bias_scale"),
            )
        if ops or tensor_grids.step(context) is not None or _cut(context) > 0.0:
            detail, summary = _range(context)
            yield Diagnosis(
                cause="quantization",
                certainty=Certainty.CONFIRMED if ops else Certainty.POSSIBLE,
                summary=summary,
                evidence={Fact.OPERATORS: ops, "cut_off": _cut(context)},
                fix=message("FIX.calibrate"),
                about=frozenset({detail}),
            )


def _misread(found: MisreadNode) -> Diagnosis:
    """What packed weights are that no rounding of the reference's gives."""
    node, reading = found.node, found.reading
    if reading.right is None:
        return Diagnosis(
            cause="quantization",
            certainty=Certainty.CONFIRMED,
            summary=message("quantization.packed_unknown", node=node.name),
            node=node.name,
            fix=message("FIX.quantize_again"),
        )
    return Diagnosis(
        cause="quantization",
        certainty=Certainty.EVIDENT,
        summary=message("quantization.packed", words=reading.words, node=node.name),
        node=node.name,
        fix=reading.fix,
        about=frozenset({reading.right}),
    )


def _no_step(context: FaultContext) -> Diagnosis | None:
    """A scale that is infinite or NaN: no number stands on such a grid."""
    step = tensor_grids.step(context)
    if step is None or np.isfinite(step):
        return None
    return Diagnosis(
        cause="quantization",
        certainty=Certainty.EVIDENT,
        summary=message("quantization.no_step", scale=step),
        evidence={"scale": step},
        fix=message("FIX.calibrate_finite"),
    )


def _axis(context: FaultContext) -> Diagnosis | None:
    """Scales for each channel, laid along another axis."""
    for node in (*context.nodes, *tensor_grids.readers(context)):
        now = node.attributes.get("axis")
        if node.op not in {"QuantizeLinear", "DequantizeLinear"} or not isinstance(now, int):
            continue
        scale = context.candidate.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
        if scale is None or int(np.prod(scale.shape)) <= 1:
            continue
        for axis in range(QUANTIZED_AXES):
            edit = SetAttribute(node=node.name, name="axis", value=axis)
            found = context.rehearse(Patch(summary="", edits=(edit,))) if axis != now else None
            if found is not None and (context.equals(found) or _within(context, found)):
                return _diagnosis(
                    message("quantization.axis", now=now, right=axis),
                    experiment("quantization.axis", node=node.name, axis=axis),
                    message("FIX.set", name="axis", value=axis),
                    "axis",
                    axis=axis,
                )
    return None


def _stored(context: FaultContext) -> Diagnosis | None:
    """Stored integers that do not stand for the reference's weight."""
    found = tensor_grids.misread_weight(context)
    if found is None:
        return None
    name, change, cause = found
    return Diagnosis(
        cause=cause,
        certainty=Certainty.CONFIRMED,
        summary=message("quantization.stored", constant=name, difference=change),
        evidence={Fact.CONSTANT: name, "difference": change},
        experiments=(experiment("quantization.integers", constant=name),),
        fix=message("FIX.quantize_again"),
    )


def _affine(context: FaultContext) -> Diagnosis | None:
    """One factor, or one shift, between right and wrong values: another scale or zero point."""
    step = tensor_grids.step(context)
    right, wrong = context.right.astype(np.float64), context.wrong.astype(np.float64)
    if step is None or right.shape != wrong.shape or right.size < 8:
        return None
    inside = (wrong > wrong.min()) & (wrong < wrong.max())
    if np.count_nonzero(inside) < 8 or np.ptp(right[inside]) == 0.0:
        return None  # through a single value there are lines of every slope
    factor, shift = np.polyfit(right[inside], wrong[inside], 1)
    steps = shift / step
    if abs(steps) >= 0.5 and _near(wrong[inside] - shift, right[inside], step):
        count = round(float(steps))
        key = "quantization.signedness" if abs(count) == 128 else "quantization.zero_point"
        return _diagnosis(
            message(key, steps=count),
            experiment("quantization.shift", shift=shift),
            message("FIX.zero_point"),
            Detail.ZERO_POINT,
            steps=count,
        )
    visible = abs(factor - 1.0) * float(np.max(np.abs(right[inside]))) > step
    if factor > 0 and visible and _near((wrong[inside] - shift) / factor, right[inside], step):
        return _diagnosis(
            message("quantization.scale", factor=factor),
            experiment("quantization.factor", factor=factor),
            message("FIX.scale"),
            Detail.SCALE,
            factor=float(factor),
        )
    return None


def _cut_off(context: FaultContext) -> Diagnosis | None:
    """What sits at an end of the grid and belongs beyond it is off by more than all the rest."""
    read = [n for n in context.nodes if n.op == "DequantizeLinear" and context.tensor in n.outputs]
    near = {context.tensor, *(node.inputs[0] for node in read)}
    own = [each for each in context.candidate.quantization if each.tensor in near]
    right, wrong = context.right.astype(np.float64), context.wrong.astype(np.float64)
    if len(own) != 1 or len(own[0].scale) != 1 or limits(own[0].dtype) is None:
        return None
    (low, high), half = reach(own[0]), 0.5 * own[0].scale[0]
    if right.shape != wrong.shape:
        return None
    beyond = ((wrong <= low + half) & (right < low)) | ((wrong >= high - half) & (right > high))
    off = np.abs(right - wrong)
    if beyond.all() or not beyond.any() or np.max(off[beyond]) <= np.max(off[~beyond]):
        return None
    return Diagnosis(
        cause="quantization",
        certainty=Certainty.EVIDENT,
        summary=message("quantization.clips", low=low, high=high, share=float(np.mean(beyond))),
        evidence={"cut_off": float(np.mean(beyond))},
        experiments=(experiment("quantization.range", low=low, high=high),),
        fix=message("FIX.calibrate"),
        about=frozenset({Detail.CLIPPED}),
    )


def _near(values: Array, right: Array, step: float) -> bool:
    """Within the one step that rounding twice may cost."""
    return bool(np.mean(np.abs(values - right)) <= 0.5 * step)


def _within(context: FaultContext, found: Array) -> bool:
    """Whether a step of the grid explains what is left."""
    step = tensor_grids.step(context)
    return (
        step is not None
        and found.shape == context.right.shape
        and _near(found, context.right, step)
    )


def _diagnosis(
    summary: str, asked: Experiment, fix: str, about: str, **evidence: object
) -> Diagnosis:
    return Diagnosis(
        cause="quantization",
        certainty=Certainty.CONFIRMED,
        summary=summary,
        evidence=evidence,
        experiments=(asked,),
        fix=fix,
        about=frozenset({about}),
    )


def _cut(context: FaultContext) -> float:
    right, wrong = context.right.astype(np.float64), context.wrong.astype(np.float64)
    if not right.size:
        return 0.0
    return float(np.mean((right < np.min(wrong)) | (right > np.max(wrong))))


def _range(context: FaultContext) -> tuple[Detail, str]:
    """Whether values are cut off, shifted, or merely coarse; and that in words."""
    right, wrong = context.right.astype(np.float64), context.wrong.astype(np.float64)
    low, high = float(np.min(wrong)), float(np.max(wrong))
    cut = _cut(context)
    shift = float(np.mean(wrong - right)) if right.size else 0.0
    spread = float(np.std(wrong - right)) if right.size else 0.0
    if cut > CLIPPED_SHARE:
        text = message("quantization.clips", low=low, high=high, share=cut)
        return Detail.CLIPPED, text
    if abs(shift) > spread:
        text = message("quantization.shift", shift=shift)
        return Detail.ZERO_POINT, text
    step = tensor_grids.step(context)
    reached = round((high - low) / step) + 1 if step and np.isfinite(high - low) else 0
    if 1 < reached < WASTED_STEPS:
        return Detail.COARSE, message("quantization.wasted", reached=reached)
    return Detail.COARSE, message("quantization.coarse")

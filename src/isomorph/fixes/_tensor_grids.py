"""Correct grids that are stored beside their tensors: from the model first, then from values.

A bias counts in products of the scales of data and weight, so any two of the three determine the
third; some operators leave the grid of what they read as it is; and a range can be calibrated
again on what goes through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetConstant, SetQuantization
from isomorph.diagnose import node_constants
from isomorph.diagnose.constant_diff import ROUNDING
from isomorph.fixes._grids import reals
from isomorph.fixes._neighbors import neighbors
from isomorph.fixes._weight_scales import fitted_scale
from isomorph.match.dequantized_graph import implicit_grids
from isomorph.match.value_match import rearrangements
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node, Quantization
    from isomorph.core.trace import Array

_SAME_GRID = frozenset({"MaxPool", "AveragePool", "Reshape", "Squeeze", "Unsqueeze", "Concat",
                        "Transpose", "Resize", "Slice", "Split", "Tile", "Gather", "Pad", "Relu",
                        "SpaceToDepth", "DepthToSpace"})  # fmt: skip
_ENDS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


def on_other_grids(context: FaultContext) -> Iterator[Patch]:
    """Patches of single grids around the fault, the surest first."""
    grids = implicit_grids(context.candidate)
    if not grids:
        return
    near = list(neighbors(context, depth=1))
    read = {name for node in near for name in node.outputs}
    near += [n for n in context.candidate.nodes if n not in near and read & set(n.inputs)]
    for node in near:
        yield from _stated_by_bias(context, grids, node)
    for node in near:
        yield from _as_neighbors(grids, node)
    for node in context.nodes:
        yield from _fitted_to_weights(context, grids, node)
    seen = dict.fromkeys(n for node in context.nodes for n in (*node.outputs, *node.inputs))
    for name in seen:
        if name in grids and name not in context.candidate.constants:
            for patch in _calibrated(context, name, grids[name]):
                yield _with_biases(context, grids, patch)


def _patch(name: str, now: Quantization, words: str, scale: Array, zero: Sequence[int]) -> Patch:
    stored = tuple(float(np.float32(each)) for each in np.asarray(scale).reshape(-1))
    return Patch(
        summary=message("PATCH.grid", tensor=name, change=words),
        edits=(SetQuantization(tensor=name, scale=stored, zero_point=tuple(zero), axis=now.axis),),
    )


def _with_biases(context: FaultContext, grids: dict[str, Quantization], patch: Patch) -> Patch:
    """The patch, with the biases put onto the product of the new scale and that of the weight.

    A bias that did not stand on the product of the two before is left as it is.
    """
    tables = operator_tables(context.candidate.framework)
    edits = list(patch.edits)
    for edit in patch.edits:
        assert isinstance(edit, SetQuantization)
        now = np.asarray(grids[edit.tensor].scale, np.float64)
        for node in context.candidate.nodes:
            places = tables.linear_inputs.get(node.native_op)
            if places is None or len(node.inputs) <= max(places):
                continue
            data, weight, bias = (node.inputs[place] for place in places)
            if data != edit.tensor or weight not in grids or bias not in grids:
                continue
            old = np.asarray(grids[bias].scale, np.float64)
            steps = np.asarray(grids[weight].scale, np.float64)
            real = (
                reals(context, bias, grids[bias]) if bias in context.candidate.constants else None
            )
            if real is None or not np.allclose(now * steps, old, rtol=ROUNDING, atol=0):
                continue
            scale = np.asarray(edit.scale, np.float64) * steps
            value = np.rint(real / scale).astype(grids[bias].dtype)
            zeros = grids[bias].zero_point
            edits.append(_patch(bias, grids[bias], "", scale, zeros).edits[0])
            edits.append(SetConstant(tensor=bias, value=value))
    return Patch(summary=patch.summary, edits=tuple(edits))


def _stated_by_bias(
    context: FaultContext, grids: dict[str, Quantization], node: Node
) -> Iterator[Patch]:
    """Data, weight and bias of one linear node: each from the other two, where they disagree."""
    tables = operator_tables(context.candidate.framework)
    places = tables.linear_inputs.get(node.native_op)
    if places is None or len(node.inputs) <= max(places):
        return
    names = [node.inputs[place] for place in places]
    if any(name not in grids for name in names):
        return
    data, weight, bias = (np.asarray(grids[name].scale, np.float64) for name in names)
    if np.allclose(data * weight, bias, rtol=ROUNDING, atol=0) or data.size != 1:
        return
    quotient = bias / weight
    steady = np.ptp(quotient) <= ROUNDING * np.abs(quotient).max()
    if steady:
        zero = grids[names[0]].zero_point
        words = message("PATCH.scale_of_bias", scale=float(quotient.mean()))
        yield _patch(names[0], grids[names[0]], words, quotient.mean(), zero)
    if (bias / data).size == weight.size:
        words = message("PATCH.scale_of_product")
        yield _patch(names[1], grids[names[1]], words, bias / data, grids[names[1]].zero_point)


def _as_neighbors(grids: dict[str, Quantization], node: Node) -> Iterator[Patch]:
    """Operators that only move or select values have one grid on both sides."""
    if node.op not in _SAME_GRID or not node.outputs:
        return
    around = [name for name in (*node.inputs, *node.outputs) if name in grids]
    for cand in around:
        for ref in around:
            here, there = grids[cand], grids[ref]
            if (here.scale, here.zero_point) != (there.scale, there.zero_point):
                words = message("PATCH.grid_of", tensor=ref)
                yield _patch(cand, here, words, np.asarray(there.scale), there.zero_point)


def _fitted_to_weights(
    context: FaultContext, grids: dict[str, Quantization], node: Node
) -> Iterator[Patch]:
    """The scales under which stored integers come nearest to the reference's weight."""
    for name in node.inputs:
        grid = grids.get(name)
        if grid is None or name not in context.candidate.constants:
            continue
        real = context.constant(context.candidate, name)
        if real is None or real.ndim < 2:
            continue
        scale = np.asarray(grid.scale, np.float64)
        shape = [-1 if axis == grid.axis else 1 for axis in range(real.ndim)]
        steps = real / (scale.reshape(shape) if scale.size > 1 else scale)
        for other in node_constants.floats(context.reference, context.counterparts):
            right = context.constant(context.reference, other)
            if right is None or right.size != steps.size:
                continue
            for moved in rearrangements(right, steps.shape):
                found = fitted_scale(steps, None, moved.array(right), grid.axis)
                if found is not None and _visible(found.reshape(-1), scale, steps):
                    words = message("PATCH.scale_fitted", right=other)
                    yield _patch(name, grid, words, found, grid.zero_point)


def _visible(found: Array, scale: Array, steps: Array) -> bool:
    """Whether another scale moves the largest of the integers by half a step or more."""
    return bool(np.any(np.abs(found - scale) * np.max(np.abs(steps)) >= 0.5 * scale))


def _calibrated(context: FaultContext, name: str, grid: Quantization) -> Iterator[Patch]:
    """The zero point moved, the scale fitted, or both, to what should go through."""
    seen = context.right if name == context.tensor else context.value(context.candidate, name)
    if seen is None or not seen.size or not np.isfinite(seen).all() or grid.dtype not in _ENDS:
        return
    least, most = _ENDS[grid.dtype]
    low, high = min(0.0, float(seen.min())), max(0.0, float(seen.max()))
    step, place = grid.scale[0], grid.zero_point[0] if grid.zero_point else 0
    middle = (least + most + 1) // 2
    exact = [round(least - low / step), round(most - high / step)] if step > 0 else []
    for zero in dict.fromkeys((least, 0, middle, *exact)):
        if zero != place and least <= zero <= most:
            words = message("PATCH.zero_from", now=place, right=zero)
            yield _patch(name, grid, words, np.asarray(step), (zero,))
    wide = (high - low) / (most - least)
    fitting = max(high / max(most - place, 1), -low / max(place - least, 1))
    best = int(np.clip(round(least - low / wide), least, most)) if wide > 0 else place
    for scale, own in ((fitting, place), (wide, best)):
        if scale > 0:
            words = message("PATCH.scale_and_zero", now=step, right=scale, zero=own)
            yield _patch(name, grid, words, np.asarray(scale), (own,))

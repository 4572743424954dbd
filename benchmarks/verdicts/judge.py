"""What is true of a pair: equal, different, or too close to call.

Both graphs are evaluated in float64, again and again with every rounding drawn, and by ONNX Runtime
without optimizers. For each element that gives what rounding alone can make of it. Two elements are
different where these ranges lie far apart in units of their own width. Nothing of isomorph is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import ml_dtypes
import numpy as np
import onnx
import onnxruntime

from .evaluation import Evaluation, is_float, smallest, unit
from .kernels import Array

DRAWS = 12
FAR = 100.0
"""Apart by so many widths of what rounding reaches: different."""
NEAR = 1.0
"""Apart by no more than so many widths: equal."""
CHAOTIC = 1e-2
"""Rounding moves an element by more than this share of it: it is looked at step by step."""
EXACTLY = 1e-12


@dataclass(frozen=True)
class Truth:
    """``kind``: equal, different, ambiguous; ``margin``: gap over width at the worst element."""

    kind: str
    why: str
    margin: float = 0.0
    output: str = ""
    exactly: bool = False
    tie: bool = False


@dataclass(frozen=True)
class Reach:
    """What rounding can make of the outputs: one row for each evaluation, the float64 one first."""

    rows: Mapping[str, Array]
    kinds: Mapping[str, np.dtype]


def session(model: onnx.ModelProto, *, optimized: bool) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    )
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def reach(
    model: onnx.ModelProto, feeds: Mapping[str, Array], seed: int, *, loose: bool = False
) -> Reach:
    evaluation = Evaluation(model, loose=loose)
    rng = np.random.default_rng(seed)
    rows = [evaluation.run(feeds)]
    rows += [evaluation.run(feeds, rng) for _ in range(DRAWS)]
    names = [item.name for item in model.graph.output]
    kinds: dict[str, np.dtype] = {}
    for optimized in (False, True):
        run = dict(
            zip(names, session(model, optimized=optimized).run(None, dict(feeds)), strict=True)
        )
        kinds = {name: value.dtype for name, value in run.items()}
        rows.append({k: v.astype(np.float64) if is_float(v.dtype) else v for k, v in run.items()})
    shapes = {name: {row[name].shape for row in rows} for name in names}
    torn = [name for name, seen in shapes.items() if len(seen) > 1]
    if torn:
        raise Unjudged(f"shapes of {torn[0]} differ between evaluations: {shapes[torn[0]]}")
    return Reach({name: np.stack([row[name] for row in rows]) for name in names}, kinds)


class Unjudged(Exception):
    """The judge's own means disagree about one model."""


def judge(reference: Reach, candidate: Reach) -> Truth:
    """The outputs are compared in their order."""
    verdicts = []
    if len(reference.rows) != len(candidate.rows):
        return Truth("different", "another number of outputs", np.inf)
    for (name, ref), (other, cand) in zip(
        reference.rows.items(), candidate.rows.items(), strict=True
    ):
        kinds = reference.kinds[name], candidate.kinds[other]
        verdicts.append(_output(name, ref, cand, kinds))
    different = [truth for truth in verdicts if truth.kind == "different"]
    if different:
        return max(different, key=lambda truth: truth.margin)
    doubtful = [truth for truth in verdicts if truth.kind == "ambiguous"]
    if doubtful:
        return doubtful[0]
    exactly = all(truth.exactly for truth in verdicts)
    return Truth("equal", "", exactly=exactly, tie=any(truth.tie for truth in verdicts))


def _output(name: str, ref: Array, cand: Array, kinds: tuple[np.dtype, np.dtype]) -> Truth:
    if ref.shape[1:] != cand.shape[1:]:
        return Truth("different", "another shape", np.inf, name)
    if is_float(kinds[0]) != is_float(kinds[1]):
        return Truth("ambiguous", "another kind of type", output=name)
    own = disagreement(ref, kinds[0]) or disagreement(cand, kinds[1])
    if own:
        return Truth("ambiguous", own, output=name)
    ref, cand = (rows.reshape(len(rows), -1) for rows in (ref, cand))
    if not ref.shape[1]:
        return Truth("equal", "", output=name, exactly=True)
    with np.errstate(all="ignore"):
        return _elements(name, ref, cand, kinds)


def _elements(name: str, ref: Array, cand: Array, kinds: tuple[np.dtype, np.dtype]) -> Truth:
    ref, cand = ref.astype(np.float64), cand.astype(np.float64)
    steady = np.all(_same(ref, ref[:1]), axis=0) & np.all(_same(cand, cand[:1]), axis=0)
    finite = np.all(np.isfinite(ref), axis=0) & np.all(np.isfinite(cand), axis=0)
    special = ~finite
    if np.any(special & ~steady):
        return Truth("ambiguous", "rounding decides what is finite", output=name)
    if np.any(special & ~_same(ref[0], cand[0])):
        return Truth("different", "infinite or not a number on one side", np.inf, name)
    scale = np.maximum(np.abs(ref).max(axis=0), np.abs(cand).max(axis=0))
    floor = np.zeros(scale.shape)
    for kind in kinds:
        if is_float(kind):
            floor = np.maximum(floor, unit(kind) * scale + smallest(kind))
    low, high = ref.min(axis=0), ref.max(axis=0)
    other_low, other_high = cand.min(axis=0), cand.max(axis=0)
    width = np.maximum(np.maximum(high - low, other_high - other_low), floor)
    gap = np.maximum(np.maximum(other_low - high, low - other_high), 0)
    margin = np.where(finite & (gap > 0), gap / np.where(width > 0, width, 1), 0)
    margin = np.where((width == 0) & (gap > 0), np.inf, margin)
    lost = flushed(ref, cand, kinds)
    apart = (margin >= FAR) & ~lost
    doubtful = finite & ~apart & (margin > NEAR)
    wild = finite & (width > CHAOTIC * scale + floor)
    for place in np.flatnonzero(finite & ~apart & wild):
        if abs(ref[0, place] - cand[0, place]) <= width[place] / FAR:
            doubtful[place] = False
            continue
        verdict = _in_steps(ref[:, place], cand[:, place], floor[place])
        apart[place], doubtful[place] = verdict == "different", verdict == "ambiguous"
    if np.any(apart):
        return Truth("different", "values", float(np.max(np.where(apart, margin, 0))), name)
    if np.any(doubtful):
        return Truth("ambiguous", "within the doubt of rounding", float(margin.max()), name)
    near = np.abs(ref[0] - cand[0]) <= EXACTLY * scale
    return Truth(
        "equal", "", output=name, exactly=bool(np.all(near | special)), tie=bool(wild.any())
    )


def flushed(ref: Array, cand: Array, kinds: tuple[np.dtype, np.dtype]) -> Array:
    """Where one side is zero and the other too small for a runtime that has no subnormals."""
    if not all(map(is_float, kinds)):
        return np.zeros(ref.shape[1:], bool)
    bound = max(float(ml_dtypes.finfo(kind).smallest_normal) for kind in kinds)
    small = [np.all(np.abs(rows) < bound, axis=0) for rows in (ref, cand)]
    zero = [np.all(rows == 0, axis=0) for rows in (ref, cand)]
    return (zero[0] & small[1]) | (zero[1] & small[0])


def _same(left: Array, right: Array) -> Array:
    return (left == right) | (np.isnan(left) & np.isnan(right))


def _in_steps(ref: Array, cand: Array, floor: float) -> str:
    """An element that jumps: every step of one side has to be far from every step of the other."""
    groups = [_groups(values, floor) for values in (ref, cand)]
    if any(group is None for group in groups):
        return "ambiguous"
    width = max([floor, *(high - low for group in groups for low, high in group)])
    gaps = [
        max(low - top, bottom - high, 0.0) for low, high in groups[0] for bottom, top in groups[1]
    ]
    if min(gaps) >= FAR * width and min(gaps) > 0:
        return "different"
    met = [
        [max(low - top, bottom - high, 0.0) <= width for bottom, top in groups[1]]
        for low, high in groups[0]
    ]
    both = all(map(any, met)) and all(map(any, zip(*met, strict=True)))
    return "equal" if both else "ambiguous"


def _groups(values: Array, floor: float) -> list[tuple[float, float]] | None:
    """The steps that were reached, or None where there are no clear ones."""
    ordered = np.sort(values)
    inner = np.diff(ordered)
    large = inner.max(initial=0)
    breaks = inner > large / FAR
    small = np.where(breaks, 0, inner).sum()
    if np.count_nonzero(breaks) > 2 or FAR * max(small, floor) > inner[breaks].min(initial=np.inf):
        return None
    edges = [0, *(np.flatnonzero(breaks) + 1), len(ordered)]
    return [(ordered[a], ordered[b - 1]) for a, b in pairwise(edges)]


def disagreement(rows: Array, kind: np.dtype) -> str:
    """Whether ONNX Runtime's run is far from everything that rounding explains of one model."""
    drawn, runs = rows[:-2].astype(np.float64), rows[-2:].astype(np.float64)
    with np.errstate(all="ignore"):
        low, high = drawn.min(axis=0), drawn.max(axis=0)
        scale = np.abs(drawn).max(axis=0)
        floor = unit(kind) * scale + smallest(kind) if is_float(kind) else 0
        width = np.maximum(high - low, floor)
        for word, run in zip(("plain", "optimized"), runs, strict=True):
            beyond = np.maximum(np.maximum(run - high, low - run), 0)
            odd = np.isfinite(scale) != np.isfinite(run)
            if np.any(odd | (beyond > FAR / 4 * width)):
                return f"the {word} run of ONNX Runtime is off"
    return ""

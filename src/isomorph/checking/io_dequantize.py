"""Inputs and outputs that are quantized differently on the two sides, as real numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from isomorph.core.errors import UsageError
from isomorph.core.messages import message
from isomorph.core.report import Binding, Finding, FindingEffect, FindingStatus
from isomorph.inputs.generated_samples import generated_samples, samples_of_other_sizes
from isomorph.match.binding import bind_inputs, bind_model_outputs, bind_outputs
from isomorph.match.dequantized_graph import GRID_OF_RESULT, GRIDS_READ
from isomorph.sessions.dequantized_session import calibrated, clipped, grids, reach

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Quantization, TensorSpec
    from isomorph.core.trace import Array, Arrays
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One input or output whose number format differs between reference and candidate."""

    kind: Literal["input", "output"]
    reference: TensorSpec
    candidate: TensorSpec
    grids: tuple[Quantization | None, Quantization | None]

    @property
    def finding(self) -> Finding:
        """The finding that describes how the two are compared."""
        was, now = self.reference.dtype, self.candidate.dtype
        verb = "takes" if self.kind == "input" else "gives"
        return Finding(
            code="INTERFACE",
            tensors=(self.candidate.name,),
            summary=message(
                "INTERFACE.grid",
                kind=self.kind,
                name=self.candidate.name,
                was=was,
                now=now,
                verb=verb,
                treatment=self._treatment,
                parameters=self._parameters,
            ),
            cause="interface",
            status=FindingStatus.CONFIRMED,
            effect=FindingEffect.NONE,
        )

    @property
    def _treatment(self) -> str:
        ref, cand = self.grids
        if cand is None:
            return message("GRID.reference_real")
        if ref is not None:
            return message("GRID.both_real")
        return message("GRID.fed") if self.kind == "input" else message("GRID.dequantized")

    @property
    def _parameters(self) -> str:
        entry = self.grids[1] or self.grids[0]
        assert entry is not None
        several = len(entry.scale) > 1
        if several:
            return message("GRID.scales", count=len(entry.scale), axis=entry.axis)
        zero = entry.zero_point[0] if entry.zero_point else 0
        return message("GRID.scale", scale=entry.scale[0], zero=zero)


@dataclass(frozen=True, slots=True, kw_only=True)
class DequantizedPair:
    """Both models, with differently quantized inputs and outputs seen as real numbers."""

    reference: ModelHandle
    candidate: ModelHandle
    changes: tuple[Change, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def findings(self) -> Iterator[Finding]:
        """One finding for each changed input or output."""
        for change in self.changes:
            yield change.finding

    def generated_samples(
        self, inputs: Sequence[Binding], dims: Mapping[str, int], seed: int
    ) -> list[Sample]:
        """Generated samples, mapped to the range that the candidate was calibrated for.

        The calibration data is unknown, but its values filled that range and none lay beyond.
        """
        drawn = generated_samples(self.reference, self.candidate.model.graph, inputs, dims, seed)
        return self._calibrated(drawn, inputs)

    def samples_of_other_sizes(
        self,
        inputs: Sequence[Binding],
        dims: Mapping[str, int],
        seed: int,
        stated: Mapping[str, Sequence[int]] | None,
    ) -> list[Sample]:
        """Samples with other sizes of the axes that are dynamic on both sides."""
        there = self.candidate.model.graph
        drawn = samples_of_other_sizes(
            self.reference.model, there, inputs, dims, seed, stated=stated
        )
        return self._calibrated(drawn, inputs)

    def _calibrated(self, drawn: list[Sample], inputs: Sequence[Binding]) -> list[Sample]:
        ends = {p.reference: self.ranges[p.candidate] for p in inputs if p.candidate in self.ranges}
        if not ends:
            return drawn
        return [
            replace(
                sample,
                feeds={
                    name: _moved(array, ends[name]) if name in ends else array
                    for name, array in sample.feeds.items()
                },
                origin=message("INPUT.in_range", origin=sample.origin),
            )
            for sample in drawn
        ]

    def clipped_inputs(self, sample: Sample, feeds: Arrays) -> Iterator[Finding]:
        """Findings for inputs of the candidate with values beyond their quantization range."""
        for change in self.changes:
            entry, name = change.grids[1], change.candidate.name
            if change.kind != "input" or entry is None or name not in feeds:
                continue
            share = clipped(np.asarray(feeds[name]), entry)
            if share > 0.0:
                low, high = reach(entry)
                yield Finding(
                    code="INPUT_CLIPPED",
                    tensors=(name,),
                    summary=message(
                        "INPUT_CLIPPED.values",
                        input=name,
                        share=share,
                        origin=sample.origin,
                        low=low,
                        high=high,
                    ),
                    cause="quantization",
                    status=FindingStatus.CONFIRMED,
                    effect=FindingEffect.NONE,
                    fix=message("FIX.calibrate_inputs"),
                )


def dequantize_pair(
    reference: ModelHandle,
    candidate: ModelHandle,
    stated_inputs: Mapping[str, str],
    stated_outputs: Mapping[str, str],
) -> DequantizedPair:
    """Present inputs and outputs as real numbers where their quantization differs.

    Integers with the same grid on both sides stay integers. So do those of one type whose grid is
    known to the nodes of both graphs alone: a caller hands them on as they are.
    """
    left, right = reference.model.graph, candidate.model.graph
    ref, cand, ranges = grids(left), grids(right), calibrated(right)
    if not ref and not cand:
        return DequantizedPair(reference=reference, candidate=candidate, ranges=ranges)
    inputs = _bound(left, right, ref, cand, stated_inputs)
    outputs = bind_model_outputs(reference.model, candidate.model, stated_outputs)
    changes = [
        each
        for each in (
            *_changes("input", left.inputs, right.inputs, inputs, (ref, cand)),
            *_changes("output", left.outputs, right.outputs, outputs, (ref, cand)),
        )
        if not _stays_integer(each, left, right)
    ]
    return DequantizedPair(
        reference=reference.in_reals({c.reference.name for c in changes} & ref.keys()),
        candidate=candidate.in_reals({c.candidate.name for c in changes} & cand.keys()),
        changes=tuple(changes),
        ranges=ranges,
    )


def _moved(array: Array, ends: tuple[float, float]) -> Array:
    """Generated values, N(0, 1) or 0…1, mapped to a range: four deviations to its ends, or evenly.

    A range on both sides of zero gets its middle half: such data rarely fills it evenly.
    """
    if array.dtype.kind != "f" or not array.size:
        return array
    low, high = ends
    wide = array.astype(np.float64)
    if wide.min() < 0.0:
        moved = 0.5 * (low + high) + 0.125 * (high - low) * wide
    else:
        share = 1.0 if min(abs(low), abs(high)) < 0.1 * (high - low) else 0.5
        moved = 0.5 * (low + high) + share * (high - low) * (wide - 0.5)
    return np.clip(moved, low, high).astype(array.dtype)


def dequantize_outputs(
    specs: Sequence[TensorSpec], candidate: ModelHandle, stated: Mapping[str, str]
) -> tuple[ModelHandle, tuple[Change, ...]]:
    """The candidate with quantized outputs as real numbers where the recorded ones are floats."""
    outputs = candidate.model.graph.outputs
    cand = grids(candidate.model.graph)
    bound = bind_outputs(specs, outputs, stated)
    changes = tuple(_changes("output", specs, outputs, bound, ({}, cand)))
    return candidate.in_reals({c.candidate.name for c in changes}), changes


def _bound(
    left: Graph,
    right: Graph,
    ref: Mapping[str, Quantization],
    cand: Mapping[str, Quantization],
    stated: Mapping[str, str],
) -> Sequence[Binding]:
    from isomorph.sessions.model_handle import real_specs

    try:
        return bind_inputs(left.inputs, right.inputs, stated)
    except UsageError as error:
        if error.code != "AMBIGUOUS_BINDING":
            raise
        # The types may make it ambiguous: a float on one side, its integers on the other.
        return bind_inputs(real_specs(left.inputs, ref), real_specs(right.inputs, cand), stated)


def _changes(
    kind: Literal["input", "output"],
    left: Sequence[TensorSpec],
    right: Sequence[TensorSpec],
    bound: Sequence[Binding],
    known: tuple[Mapping[str, Quantization], Mapping[str, Quantization]],
) -> Iterator[Change]:
    """Every input or output whose numbers differ in format."""
    ref, cand = ({spec.name: spec for spec in side} for side in (left, right))
    for pair in bound:
        specs = ref[pair.reference], cand[pair.candidate]
        entries = known[0].get(pair.reference), known[1].get(pair.candidate)
        if _differ(specs, entries):
            yield Change(kind=kind, reference=specs[0], candidate=specs[1], grids=entries)


def _stays_integer(change: Change, left: Graph, right: Graph) -> bool:
    """Whether both sides hold the same type of integers, and callers know the grid of neither."""
    ref, cand = change.grids
    if ref is None or cand is None or ref.dtype != cand.dtype:
        return False
    return _held_by_a_node(left, ref.tensor) and _held_by_a_node(right, cand.tensor)


def _held_by_a_node(graph: Graph, tensor: str) -> bool:
    """Whether a node that makes or reads a tensor gets its grid as inputs, and no caller does."""
    return any(
        (tensor in node.outputs and node.op in {"QuantizeLinear", *GRID_OF_RESULT})
        or (tensor in node.inputs and node.op in GRIDS_READ)
        for node in graph.nodes
        if len(node.inputs) > 1
    )


def _differ(
    specs: tuple[TensorSpec, TensorSpec],
    entries: tuple[Quantization | None, Quantization | None],
) -> bool:
    """Whether the same integers represent different numbers on the two sides."""
    ref, cand = entries
    if ref is not None and cand is not None:
        return (ref.dtype, ref.scale, ref.zero_point, ref.axis) != (
            cand.dtype, cand.scale, cand.zero_point, cand.axis
        )  # fmt: skip
    other = specs[1] if ref is not None else specs[0]
    return (ref is not None or cand is not None) and "float" in (other.dtype or "")

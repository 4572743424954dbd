"""Patches of declared shapes: free fixed axes again, declare shapes that a repair changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isomorph.core.messages import message
from isomorph.core.patch import DeclareShape, FreeAxis, Patch
from isomorph.core.report import Fact
from isomorph.measure.findings import fixed_axes

if TYPE_CHECKING:
    from isomorph.core.model import Graph, TensorSpec
    from isomorph.core.report import Binding, Finding, Report


def freed_axes(reference: Graph, candidate: Graph, report: Report) -> tuple[Patch, Finding] | None:
    """The patch and the finding that it repairs; None where no axis was fixed."""
    finding = next(
        (each for each in report.findings if each.fact(Fact.FIXED_AXES) is not None), None
    )
    if finding is None:
        return None
    edits = (
        *_edits(reference.inputs, candidate.inputs, report.input_bindings),
        *_edits(reference.outputs, candidate.outputs, report.output_bindings),
    )
    names = ", ".join(message("PATCH.axis", axis=each.axis, tensor=each.tensor) for each in edits)
    return Patch(summary=message("PATCH.free_axes", axes=names), edits=edits), finding


def redeclared_shapes(reference: Graph, candidate: Graph, report: Report) -> Patch | None:
    """Outputs whose file still declares the shape that the fault gave them."""
    left, right = (
        {spec.name: spec.shape for spec in side.outputs} for side in (reference, candidate)
    )
    edits = []
    for pair in report.output_bindings:
        ref, cand = left[pair.reference], right[pair.candidate]
        if ref is None or cand is None or ref == cand:
            continue
        sizes = tuple(size for size in ref if isinstance(size, int))
        if len(sizes) == len(ref) and all(isinstance(size, int) for size in cand):
            edits.append(DeclareShape(tensor=pair.candidate, shape=sizes))
    if not edits:
        return None
    names = ", ".join(repr(each.tensor) for each in edits)
    return Patch(summary=message("PATCH.declare_shapes", names=names), edits=tuple(edits))


def _edits(
    reference: Sequence[TensorSpec], candidate: Sequence[TensorSpec], bound: Sequence[Binding]
) -> Iterator[FreeAxis]:
    left, right = ({spec.name: spec for spec in side} for side in (reference, candidate))
    for pair in bound:
        ref, cand = left[pair.reference], right[pair.candidate]
        for axis in fixed_axes(ref, cand):
            word = ref.shape[axis] if ref.shape is not None else None
            yield FreeAxis(
                tensor=cand.name, axis=axis, name=str(word or f"{cand.name}_axis_{axis}")
            )

"""What a conversion did not keep, seen by comparing what the two models declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isomorph.core.divergence import Divergence
from isomorph.core.messages import message
from isomorph.core.model import Model, OutputOrder, TensorSpec
from isomorph.core.report import Binding

_OWN_METADATA = frozenset({"kind"})
"""What isomorph itself notes about how a model was read."""


def losses(
    first: Model, result: Model, inputs: Sequence[Binding], outputs: Sequence[Divergence] = ()
) -> tuple[str, ...]:
    """Axes, types, names, metadata and provenance that the first model had and the result lacks."""
    return (
        *_signature(first, result, inputs),
        *_results(first, result, outputs),
        *_beside(first, result),
    )


def _signature(first: Model, result: Model, inputs: Sequence[Binding]) -> Iterator[str]:
    there = {spec.name: spec for spec in result.graph.inputs}
    here = {spec.name: spec for spec in first.graph.inputs}
    for pair in inputs:
        ref, cand = here.get(pair.reference), there.get(pair.candidate)
        if ref is None or cand is None:
            continue
        if ref.name != cand.name:
            yield message("CONVERT.input_name", right=ref.name, now=cand.name)
        if ref.dtype != cand.dtype:
            yield message("CONVERT.input_type", right=ref.name, dtype=ref.dtype, now=cand.dtype)
        fixed = _fixed(ref, cand)
        if fixed:
            yield message("CONVERT.input_axes", right=ref.name, axes=", ".join(fixed))


def _results(first: Model, result: Model, outputs: Sequence[Divergence]) -> Iterator[str]:
    """Names of outputs, where the first model states any, and their order."""
    places = {spec.name: place for place, spec in enumerate(result.graph.outputs)}
    pairs = [
        (each.reference_output, each.candidate_output)
        for each in outputs
        if each.reference_output is not None and each.candidate_output in places
    ]
    if first.output_order is not OutputOrder.UNNAMED:
        for ref, cand in pairs:
            if ref != cand:
                yield message("CONVERT.output_name", right=ref, now=cand)
    order = [places[cand] for _, cand in pairs if cand is not None]
    if order != sorted(order):
        yield message("CONVERT.output_order", order=", ".join(map(str, order)))


def _fixed(ref: TensorSpec, cand: TensorSpec) -> list[str]:
    if ref.shape is None or cand.shape is None or len(ref.shape) != len(cand.shape):
        return []
    return [
        message("CONVERT.fixed_axis", place=place, size=size)
        for place, (before, size) in enumerate(zip(ref.shape, cand.shape, strict=True))
        if not isinstance(before, int) and isinstance(size, int)
    ]


def _beside(first: Model, result: Model) -> Iterator[str]:
    gone = sorted(set(first.metadata) - set(result.metadata) - _OWN_METADATA)
    if gone:
        yield message(
            "CONVERT.metadata", keys=", ".join(gone[:8]) + (" …" if len(gone) > 8 else "")
        )
    if _traced(first) and not _traced(result):
        yield message("CONVERT.source")
    if first.graph.quantization and not result.graph.quantization:
        yield message("CONVERT.quantization")


def _traced(model: Model) -> bool:
    return any(node.source is not None for node in model.graph.nodes)

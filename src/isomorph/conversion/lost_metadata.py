"""What a conversion did not keep, seen by comparing what the two models declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isomorph.core.divergence import Divergence
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
        mine, yours = here.get(pair.reference), there.get(pair.candidate)
        if mine is None or yours is None:
            continue
        if mine.name != yours.name:
            yield f"the name of input {mine.name!r}: it is {yours.name!r} now"
        if mine.dtype != yours.dtype:
            yield f"the type of input {mine.name!r}: {mine.dtype} became {yours.dtype}"
        fixed = _fixed(mine, yours)
        if fixed:
            yield f"dynamic axes of input {mine.name!r}: {', '.join(fixed)}"


def _results(first: Model, result: Model, outputs: Sequence[Divergence]) -> Iterator[str]:
    """Names of outputs, where the first model states any, and their order."""
    places = {spec.name: place for place, spec in enumerate(result.graph.outputs)}
    pairs = [
        (each.reference_output, each.candidate_output)
        for each in outputs
        if each.reference_output is not None and each.candidate_output in places
    ]
    if first.output_order is not OutputOrder.UNNAMED:
        for mine, yours in pairs:
            if mine != yours:
                yield f"the name of output {mine!r}: it is {yours!r} now"
    order = [places[yours] for _, yours in pairs if yours is not None]
    if order != sorted(order):
        yield f"the order of the outputs: it is {', '.join(map(str, order))} now"


def _fixed(mine: TensorSpec, yours: TensorSpec) -> list[str]:
    if mine.shape is None or yours.shape is None or len(mine.shape) != len(yours.shape):
        return []
    return [
        f"axis {place} is {size} now"
        for place, (before, size) in enumerate(zip(mine.shape, yours.shape, strict=True))
        if not isinstance(before, int) and isinstance(size, int)
    ]


def _beside(first: Model, result: Model) -> Iterator[str]:
    gone = sorted(set(first.metadata) - set(result.metadata) - _OWN_METADATA)
    if gone:
        yield f"metadata: {', '.join(gone[:8])}" + (" …" if len(gone) > 8 else "")
    if _traced(first) and not _traced(result):
        yield "where in the source a node came from"
    if first.graph.quantization and not result.graph.quantization:
        yield "quantization parameters"


def _traced(model: Model) -> bool:
    return any(node.source is not None for node in model.graph.nodes)

"""Compare what two models declare: interface, operator sets, quantized tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.errors import UsageError
from isomorph.core.model_diff import OpsetPair, QuantizationPair, SpecPair
from isomorph.match.binding import bind_inputs, bind_outputs
from isomorph.match.quantizers import (
    Reader,
    changed_parameters,
    match_quantized_tensors,
    quantization_by_tensor,
)
from isomorph.sessions.constants import read_constant

if TYPE_CHECKING:
    from isomorph.core.model import Model, TensorSpec
    from isomorph.core.report import Binding
    from isomorph.sessions.model_handle import ModelHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureDiff:
    """What two models declare about themselves, in pairs."""

    inputs: tuple[SpecPair, ...]
    outputs: tuple[SpecPair, ...]
    opsets: tuple[OpsetPair, ...]
    quantization: tuple[QuantizationPair, ...]


def diff_signatures(reference: ModelHandle, candidate: ModelHandle) -> SignatureDiff:
    """Compare the signatures of two models.

    Constants are read only where two quantized models do not agree by name or digest.
    """
    ref, cand = reference.model, candidate.model
    return SignatureDiff(
        inputs=tuple(_specs("input", ref.graph.inputs, cand.graph.inputs, bind_inputs)),
        outputs=tuple(_specs("output", ref.graph.outputs, cand.graph.outputs, bind_outputs)),
        opsets=tuple(_opsets(ref, cand)),
        quantization=tuple(_quantization(reference, candidate)),
    )


def _specs(
    kind: str,
    ref: Sequence[TensorSpec],
    cand: Sequence[TensorSpec],
    bind: Callable[..., tuple[Binding, ...]],
) -> Iterator[SpecPair]:
    try:
        bound = bind(ref, cand, {})
    except UsageError:
        # A check would ask the user to bind these; the comparison shows them unpaired.
        names = {spec.name for spec in ref}
        shared = [spec for spec in cand if spec.name in names]
        bound = bind(shared, shared, {})
    left, right = ({spec.name: spec for spec in side} for side in (ref, cand))
    for pair in bound:
        one, other = left.pop(pair.reference), right.pop(pair.candidate)
        yield SpecPair(
            kind=kind, reference=one, candidate=other, how=pair.how, changed=_changed(one, other)
        )
    for spec in left.values():
        yield SpecPair(kind=kind, reference=spec, candidate=None, how="not paired")
    for spec in right.values():
        yield SpecPair(kind=kind, reference=None, candidate=spec, how="not paired")


def _changed(one: TensorSpec, other: TensorSpec) -> tuple[str, ...]:
    fields = ("name", "kind", "dtype", "shape")
    return tuple(field for field in fields if getattr(one, field) != getattr(other, field))


def _opsets(ref: Model, cand: Model) -> Iterator[OpsetPair]:
    for domain in sorted({*ref.opset, *cand.opset}):
        yield OpsetPair(
            domain=domain or "ai.onnx",
            reference=ref.opset.get(domain),
            candidate=cand.opset.get(domain),
        )


def _quantization(reference: ModelHandle, candidate: ModelHandle) -> Iterator[QuantizationPair]:
    left, right = (list(each.model.graph.quantization) for each in (reference, candidate))
    writers = quantization_by_tensor(reference.model.graph)
    matched: dict[str, str] = {}
    if left and right:
        matched = match_quantized_tensors(
            reference.model.graph,
            candidate.model.graph,
            reference_value=_reader(reference),
            candidate_value=_reader(candidate),
        )
    for entry in right:
        other = writers[matched[entry.tensor]] if entry.tensor in matched else None
        differing = changed_parameters(other, entry) if other is not None else ()
        yield QuantizationPair(reference=other, candidate=entry, changed=differing)
    for entry in left:
        if entry.tensor not in matched.values():
            yield QuantizationPair(reference=entry, candidate=None)


def _reader(handle: ModelHandle) -> Reader:
    # Without its values a tensor is paired by name and digest alone.
    return lambda name: read_constant(handle.oracle, name)

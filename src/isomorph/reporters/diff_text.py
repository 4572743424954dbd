"""What two model files declare, next to each other, as text or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.escaping import counted
from isomorph.reporters.json import as_json
from isomorph.reporters.table import columns, shape_text

if TYPE_CHECKING:
    from isomorph.core.model import Model, Quantization, TensorSpec
    from isomorph.core.model_diff import ModelDiff, SpecPair

_SAME, _ABSENT = "", "—"


def as_document(found: ModelDiff) -> str:
    """Everything as JSON; the frameworks' own objects stay out of it."""
    bare = replace(
        found,
        reference=replace(found.reference, native=None),
        candidate=replace(found.candidate, native=None),
    )
    return as_json({"schema": "isomorph.contrast/1", "contrast": bare})


def as_text(found: ModelDiff) -> str:
    """Tables: the models, inputs and outputs, attributes that differ, quantized tensors."""
    heading = ("", "reference", "candidate", "differs")
    parts = [columns([heading, *_models(found)]), "", columns([heading, *_signature(found)])]
    if found.attributes:
        count = counted(len(found.attributes), "attribute")
        differ = "differs" if len(found.attributes) == 1 else "differ"
        parts += ["", f"{count} {differ}; nodes of one operator correspond in their order"]
        parts.append(
            columns([("node", "attribute", "reference", "candidate"), *_attributes(found)])
        )
    quantized = list(_quantized(found))
    if quantized:
        moved = sum(bool(pair.changed) for pair in found.quantization)
        alone = sum(pair.reference is None or pair.candidate is None for pair in found.quantization)
        summary = f"{len(quantized)} quantized tensors: {moved} changed"
        parts += ["", summary + (f", {alone} on one side only" if alone else "")]
        parts.append(columns([("tensor", "reference", "candidate", "changed"), *quantized]))
    return "\n".join(parts)


def _models(found: ModelDiff) -> Iterator[tuple[str, str, str, str]]:
    def row(name: str, left: str, right: str) -> tuple[str, str, str, str]:
        return name, left, right, "yes" if left != right else _SAME

    ref, cand = found.reference, found.candidate
    yield "file", ref.location, cand.location, _SAME
    yield row("framework", ref.framework, cand.framework)
    if ref.framework == cand.framework:
        yield row("contents", ref.digest[:12], cand.digest[:12])
    yield row("producer", ref.producer or "not stated", cand.producer or "not stated")
    for pair in found.opsets:
        yield row(f"opset {pair.domain}", _version(pair.reference), _version(pair.candidate))
    yield row("nodes", str(len(ref.graph.nodes)), str(len(cand.graph.nodes)))
    yield row("constants", str(len(ref.graph.constants)), str(len(cand.graph.constants)))
    yield row("quantized", _count(ref), _count(cand))


def _version(version: int | None) -> str:
    return _ABSENT if version is None else str(version)


def _count(model: Model) -> str:
    return f"{len(model.graph.quantization)} tensors"


def _signature(found: ModelDiff) -> Iterator[tuple[str, str, str, str]]:
    for pair in (*found.inputs, *found.outputs):
        yield pair.kind, _spec(pair.reference), _spec(pair.candidate), _differs(pair)


def _differs(pair: SpecPair) -> str:
    if pair.reference is None or pair.candidate is None:
        return pair.how
    return ", ".join(pair.changed) + (f" (by {pair.how})" if "name" in pair.changed else "")


def _spec(spec: TensorSpec | None) -> str:
    if spec is None:
        return _ABSENT
    return f"{spec.name} {spec.dtype or 'unknown'} {shape_text(spec.shape)}"


def _attributes(found: ModelDiff) -> Iterator[tuple[str, str, str, str]]:
    for each in found.attributes:
        names = dict.fromkeys((each.reference_node, each.candidate_node))
        yield f"{' / '.join(names)} ({each.op})", each.name, *each.shown


def _quantized(found: ModelDiff) -> Iterator[tuple[str, str, str, str]]:
    """Changed ones first, then those on one side only."""
    pairs = sorted(
        found.quantization,
        key=lambda pair: (
            not pair.changed,
            pair.reference is not None and pair.candidate is not None,
        ),
    )
    for pair in pairs:
        names = [each.tensor for each in (pair.reference, pair.candidate) if each is not None]
        yield (
            " / ".join(dict.fromkeys(names)),
            parameters(pair.reference),
            parameters(pair.candidate),
            ", ".join(pair.changed).replace("_", " "),
        )


def parameters(entry: Quantization | None) -> str:
    """Type, scale and zero point; of many channels the smallest and largest."""
    if entry is None:
        return _ABSENT
    if len(entry.scale) == 1:
        zero = entry.zero_point[0] if entry.zero_point else 0
        return f"{entry.dtype}, scale {entry.scale[0]:.6g}, zero point {zero}"
    scales = f"{len(entry.scale)} scales {min(entry.scale):.6g} to {max(entry.scale):.6g}"
    zeros = sorted(set(entry.zero_point))
    points = "" if zeros in ([], [0]) else f", zero points {zeros[0]} to {zeros[-1]}"
    return f"{entry.dtype}, {scales} along axis {entry.axis}{points}"

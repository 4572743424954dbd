"""Two models next to each other, by what their files declare; nothing is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isomorph.core.model import Model, Quantization, TensorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecPair:
    """An input or output on both sides, with the fields that differ; None where it is missing."""

    kind: str
    reference: TensorSpec | None
    candidate: TensorSpec | None
    how: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizationPair:
    """A quantized tensor on both sides, with the parameters that the conversion changed."""

    reference: Quantization | None
    candidate: Quantization | None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsetPair:
    """The version of one operator set on both sides; None where a side does not import it."""

    domain: str
    reference: int | None
    candidate: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributePair:
    """An attribute that differs between two nodes of one operator, with both values.

    ``shown`` are the values as text; a long one is shortened to the first element that differs.
    """

    op: str
    reference_node: str
    candidate_node: str
    name: str
    reference: Any
    candidate: Any
    shown: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDiff:
    """Both descriptions, and what differs between them."""

    reference: Model
    candidate: Model
    inputs: tuple[SpecPair, ...] = ()
    outputs: tuple[SpecPair, ...] = ()
    opsets: tuple[OpsetPair, ...] = ()
    quantization: tuple[QuantizationPair, ...] = ()
    attributes: tuple[AttributePair, ...] = ()

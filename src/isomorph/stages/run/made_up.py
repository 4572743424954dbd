"""Samples for models that come without inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.stages.run.feeds import Sample
from isomorph.stages.run.generate import SAMPLES, generate

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Model
    from isomorph.core.report import Binding


def made_up(
    model: Model, other: Graph, inputs: Sequence[Binding], dims: Mapping[str, int], seed: int
) -> list[Sample]:
    """From the model's signature; a size that only the ``other`` side fixes is taken from it."""
    there = {spec.name: spec.shape for spec in other.inputs}
    shapes = {pair.reference: there[pair.candidate] for pair in inputs}
    has_floats = any("float" in (spec.dtype or "") for spec in model.graph.inputs)
    return [
        Sample(
            origin=f"generated: {sample}, seed {seed}",
            feeds=generate(model.graph, dims, sample=sample, seed=seed, other_shapes=shapes),
        )
        for sample in (SAMPLES if has_floats else SAMPLES[:1])
    ]

"""Generate samples for models without given inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.core.coverage import InputKind
from isomorph.inputs.accepted_sizes import accepted_sizes, sizes_text
from isomorph.inputs.dynamic_sizes import other_sizes
from isomorph.inputs.feeds import Sample
from isomorph.inputs.generate import DECIDING, SAMPLES, generate

if TYPE_CHECKING:
    from isomorph.core.model import Dimension, Graph, Model
    from isomorph.core.report import Binding
    from isomorph.sessions.model_handle import ModelHandle


VALID = "valid values"
"""The description of integers, booleans and strings that the graph accepts."""

_BRANCHES = frozenset({"If", "Case"})


def generated_samples(
    handle: ModelHandle,
    other: Graph,
    inputs: Sequence[Binding],
    dims: Mapping[str, int],
    seed: int,
) -> list[Sample]:
    """Generate samples from a model's signature, with sizes that only ``other`` fixes.

    Where the model rejects the usual sizes of its dynamic axes, accepted ones are used.
    """
    model, shapes = handle.model, _shapes(other, inputs)
    sizes = accepted_sizes(handle, shapes, dims, seed)
    dims = {**dims, **sizes}
    has_floats = takes_floats(model)
    distributions = SAMPLES if has_floats else SAMPLES[:1]
    labels = {} if has_floats else {SAMPLES[0]: VALID}
    if has_floats and decides(model):
        distributions = (*distributions, *DECIDING)
    return [
        Sample(
            origin=f"generated: {labels.get(sample, sample)}, seed {seed}{sizes_text(sizes)}",
            feeds=generate(model.graph, dims, sample=sample, seed=seed, other_shapes=shapes),
            kind=InputKind.GENERATED,
        )
        for sample in distributions
    ]


def samples_of_other_sizes(
    model: Model,
    other: Graph,
    inputs: Sequence[Binding],
    dims: Mapping[str, int],
    seed: int,
    *,
    stated: Mapping[str, Sequence[int]] | None = None,
) -> list[Sample]:
    """Generate one sample for each other size of the axes that are dynamic in both models."""
    shapes = _shapes(other, inputs)
    label = SAMPLES[0] if takes_floats(model) else VALID
    return [
        Sample(
            origin=f"generated: {label}, seed {seed}, "
            + ", ".join(f"{axis}={size}" for axis, size in sizes.items()),
            feeds=generate(
                model.graph, {**dims, **sizes}, sample=SAMPLES[0], seed=seed, other_shapes=shapes
            ),
            sizes=sizes,
            kind=InputKind.GENERATED,
        )
        for sizes in other_sizes(model.graph, shapes, dims, stated)
    ]


def takes_floats(model: Model) -> bool:
    """Whether an input is drawn from a distribution rather than from valid integers."""
    return any("float" in (spec.dtype or "") for spec in model.graph.inputs)


def decides(model: Model) -> bool:
    """Whether the computation may depend on values: a branch, or Python control flow."""
    return model.runs_python or any(node.op in _BRANCHES for node in model.graph.nodes)


def _shapes(other: Graph, inputs: Sequence[Binding]) -> dict[str, tuple[Dimension, ...] | None]:
    there = {spec.name: spec.shape for spec in other.inputs}
    return {pair.reference: there[pair.candidate] for pair in inputs}

"""Samples for models that come without inputs."""

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
"""How values of integers, truths and words are told: within what the graph can take."""

_BRANCHES = frozenset({"If", "Case"})


def made_up(
    opened: ModelHandle,
    other: Graph,
    inputs: Sequence[Binding],
    dims: Mapping[str, int],
    seed: int,
) -> list[Sample]:
    """From the model's signature; a size that only the ``other`` side fixes is taken from it.

    Where the model refuses the usual sizes of its dynamic axes, they are those that it takes.
    """
    model, shapes = opened.model, _shapes(other, inputs)
    sizes = accepted_sizes(opened, shapes, dims, seed)
    dims = {**dims, **sizes}
    has_floats = takes_floats(model)
    wanted = SAMPLES if has_floats else SAMPLES[:1]
    words = {} if has_floats else {SAMPLES[0]: VALID}
    if has_floats and decides(model):
        wanted = (*wanted, *DECIDING)
    return [
        Sample(
            origin=f"generated: {words.get(sample, sample)}, seed {seed}{sizes_text(sizes)}",
            feeds=generate(model.graph, dims, sample=sample, seed=seed, other_shapes=shapes),
            kind=InputKind.GENERATED,
        )
        for sample in wanted
    ]


def of_other_sizes(
    model: Model,
    other: Graph,
    inputs: Sequence[Binding],
    dims: Mapping[str, int],
    seed: int,
    *,
    stated: Mapping[str, Sequence[int]] | None = None,
) -> list[Sample]:
    """One sample for each other size of the axes that are dynamic on both sides."""
    shapes = _shapes(other, inputs)
    word = SAMPLES[0] if takes_floats(model) else VALID
    return [
        Sample(
            origin=f"generated: {word}, seed {seed}, "
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
    """Whether an input is drawn from a distribution; all others have values that are valid."""
    return any("float" in (spec.dtype or "") for spec in model.graph.inputs)


def decides(model: Model) -> bool:
    """Whether what is computed may hang on values: a branch, or Python that decides."""
    return model.runs_python or any(node.op in _BRANCHES for node in model.graph.nodes)


def _shapes(other: Graph, inputs: Sequence[Binding]) -> dict[str, tuple[Dimension, ...] | None]:
    there = {spec.name: spec.shape for spec in other.inputs}
    return {pair.reference: there[pair.candidate] for pair in inputs}

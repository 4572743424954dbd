"""Pairs from a seed: a reference, a candidate, inputs, and how the candidate came about."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import onnx

from .decompositions import DECOMPOSITIONS
from .editing import Editor
from .generator import Sample, random_model
from .mutations import MUTATIONS, Mutation
from .naming import optimized, renamed, reordered
from .rewrites import REWRITES

ALL_REWRITES = {**REWRITES, **{f"decomposed {k}": v for k, v in DECOMPOSITIONS.items()}}
OFTEN = {
    "weight_element": 9, "bias_element": 4, "step_offset": 7, "other_operator": 2, "dropped": 2,
}  # fmt: skip
KINDS = [name for name in MUTATIONS for _ in range(OFTEN.get(name, 1))]


@dataclass(frozen=True)
class Pair:
    """``mutation`` None: faithful by construction. ``seed`` makes the same pair again.

    ``unmutated``: the candidate before its mutation, names apart.
    """

    seed: int
    sample: Sample
    candidate: onnx.ModelProto
    rewrites: tuple[str, ...]
    mutation: Mutation | None
    unmutated: onnx.ModelProto

    @property
    def reference(self) -> onnx.ModelProto:
        return self.sample.model

    @property
    def narrow_storage(self) -> bool:
        """Whether the candidate keeps a constant in fewer bits than the reference."""
        return "constant_in_half" in self.rewrites


def make_pair(seed: int, *, share: float = 0.65) -> Pair:
    """``share`` of the pairs are mutated."""
    rng = np.random.default_rng(seed)
    sample = random_model(rng)
    mutated = rng.random() < share
    candidate, names, groups = _rewritten(sample.model, rng, most=2 if mutated else 4)
    mutation, unmutated = None, candidate
    if mutated:
        candidate, mutation = _mutated(candidate, rng)
        if mutation is not None and not mutation.constant:
            # What one node of the reference became has no tensors in common with it inside.
            shared = [group for group in groups if group & mutation.nodes]
            mutation = replace(mutation, nodes=mutation.nodes.union(*shared))
    if rng.random() < 0.6:
        candidate = reordered(candidate, rng)
    if rng.random() < 0.7:
        candidate, nodes, tensors = renamed(candidate, rng)
        names.append("renamed")
        if mutation is not None:
            mutation = _under_new_names(mutation, nodes, tensors)
    return Pair(seed, sample, candidate, tuple(names), mutation, unmutated)


def _under_new_names(
    mutation: Mutation, nodes: dict[str, str], tensors: dict[str, str]
) -> Mutation:
    return replace(
        mutation,
        nodes=frozenset(nodes.get(name, name) for name in mutation.nodes),
        constant=tensors.get(mutation.constant, mutation.constant),
    )


def _rewritten(
    model: onnx.ModelProto, rng: np.random.Generator, most: int
) -> tuple[onnx.ModelProto, list[str], list[set[str]]]:
    """The model, what was done, and the nodes that each rewrite made."""
    names, groups = [], []
    if rng.random() < 0.12:
        level = "basic" if rng.random() < 0.6 else "extended"
        made = optimized(model, level)
        if made is not None and made.graph.node:
            return made, [f"optimized {level}"], []
    for _ in range(int(rng.integers(0, most + 1))):
        applicable = list(ALL_REWRITES)
        for place in rng.permutation(len(applicable))[:12]:
            editor = Editor(model, rng)
            name = applicable[int(place)]
            if ALL_REWRITES[name](editor):
                before = {node.name for node in model.graph.node}
                model = editor.model()
                names.append(name)
                groups.append({node.name for node in model.graph.node} - before)
                break
    return model, names, groups


def _mutated(
    model: onnx.ModelProto, rng: np.random.Generator
) -> tuple[onnx.ModelProto, Mutation | None]:
    for _ in range(20):
        editor = Editor(model, rng)
        mutation = MUTATIONS[KINDS[int(rng.integers(len(KINDS)))]](editor)
        if mutation is not None:
            return editor.model(), mutation
    return model, None

"""Weights of the candidate with the reference's values: what their readers compute from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.localize.weight_inputs import converted_to

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.constant_difference import ConstantDifference
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedReaders:
    """What the nodes that read weights compute, from the stored values and from others."""

    before: Mapping[str, Array] = field(repr=False)
    after: Mapping[str, Array] = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether no element differs."""
        return all(
            np.array_equal(self.before[each], self.after[each], equal_nan=True)
            for each in self.before
        )


def replaced_readers(cand: EvaluatedModel, replaced: Mapping[str, Array]) -> ReplacedReaders | None:
    """Return what the readers of weights compute from other values.

    Only the graph before them is evaluated: whatever a weight does to an output, it does through
    them. None where they cannot be evaluated alone.
    """
    graph, oracle = cand.model.graph, cand.oracle()
    readers = [node for node in graph.nodes if not replaced.keys().isdisjoint(node.inputs)]
    made = [each for node in readers for each in node.outputs if each]
    read = {each for node in readers for each in node.inputs if each}
    known = {*replaced, *graph.constants, *cand.feeds}
    entries = [each for each in sorted(read) if each not in known]
    alone = not read.intersection(made) and not any(node.bodies for node in readers)
    shown = any(spec.name in replaced for spec in graph.outputs)
    if not readers or not alone or shown or oracle.capabilities.feed != "all":
        return None
    try:
        before = oracle.run(cand.feeds, [*made, *entries])
        given = {**cand.feeds, **{each: before[each] for each in entries}, **replaced}
        after = oracle.run(given, made)
    except (IsomorphError, ValueError):
        return None  # not every tensor that can be fetched can be fed
    stored, right = ({each: found[each] for each in made} for found in (before, after))
    arrays = all(isinstance(each, np.ndarray) for each in (*stored.values(), *right.values()))
    return ReplacedReaders(before=stored, after=right) if arrays else None  # type: ignore[arg-type]


def corrected_weight(difference: ConstantDifference, candidate: EvaluatedModel) -> Array | None:
    """Return the weight with the reference's values, in the type of the candidate's oracle."""
    name = difference.weight.name
    try:
        actual = np.asarray(candidate.oracle().run({}, [name])[name])
    except (IsomorphError, ValueError, KeyError):
        return None
    if actual.dtype.kind in "OSU":
        return None  # strings
    corrected = difference.corrected(actual if actual.dtype.kind in "iu" else None)
    return np.asarray(converted_to(corrected, actual.dtype), order="C")

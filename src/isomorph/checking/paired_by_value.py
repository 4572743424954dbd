"""Inputs that names, types and shapes do not tell apart, paired by what both models make of them.

Every pairing is tried on one generated sample, in float64. One that gives the reference's outputs
where no other does is taken if it is the order of both signatures, in which callers pass inputs by
position. In any other order the two are not called alike: the error then states the pairing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.report import Binding, BoundBy
from isomorph.inputs import feeds as feeding
from isomorph.inputs.generate import SAMPLES, generate
from isomorph.match.binding import bind_inputs, bind_model_outputs, possible_inputs
from isomorph.measure.input_layout import apart, decisive_share

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.model import Model
    from isomorph.core.trace import Array
    from isomorph.sessions.model_handle import ModelHandle


def decided_by_value(
    reference: ModelHandle, candidate: ModelHandle, options: CheckConfig
) -> dict[str, str]:
    """The pairs of inputs that only values decide; none where others do, or where these do not."""
    left, right = reference.model.graph.inputs, candidate.model.graph.inputs
    try:
        bind_inputs(left, right, options.bind_inputs)
    except UsageError as error:
        if error.code != "AMBIGUOUS_BINDING":
            raise
        choices = possible_inputs(left, right, options.bind_inputs)
        found = _only_agreeing(reference, candidate, choices, options)
        if found is None:
            return {}
        open_pairs = [pair for pair in found if pair.how is BoundBy.VALUES]
        if found != choices[0]:
            raise _in_another_order(error, open_pairs) from error
        return {pair.reference: pair.candidate for pair in open_pairs}
    return {}


def _only_agreeing(
    reference: ModelHandle,
    candidate: ModelHandle,
    choices: Sequence[tuple[Binding, ...]],
    options: CheckConfig,
) -> tuple[Binding, ...] | None:
    """The pairing under which the outputs agree and are far nearer than under any other."""
    if len(choices) <= 1:
        return None
    there = {each.name: each.shape for each in candidate.model.graph.inputs}
    shapes = {pair.reference: there[pair.candidate] for pair in choices[0]}
    try:
        feeds = generate(
            reference.model.graph, options.dims, sample=SAMPLES[0], seed=options.seed,
            other_shapes=shapes,
        )  # fmt: skip
        pairs = bind_model_outputs(reference.model, candidate.model, options.bind_outputs)
        right = _outputs(reference, feeds, [pair.reference for pair in pairs])
        found = [
            _outputs(candidate, _fed(feeds, each, candidate.model), [p.candidate for p in pairs])
            for each in choices
        ]
    except (IsomorphError, ValueError):
        return None  # the question stays the user's
    distances = [apart(right, values) for values in found]
    nearest, next_one = sorted(distances)[:2]
    if not math.isfinite(nearest) or nearest >= decisive_share(right) * next_one:
        return None
    return choices[distances.index(nearest)]


def _fed(
    feeds: Mapping[str, Array], bound: Sequence[Binding], candidate: Model
) -> Mapping[str, Array]:
    return feeding.carried_over(feeds, bound, candidate.graph.inputs)


def _outputs(handle: ModelHandle, feeds: Mapping[str, Array], names: Sequence[str]) -> list[Array]:
    values = handle.oracle().run(feeds, list(dict.fromkeys(names)))
    return [np.asarray(values[name]) for name in names]


def _in_another_order(error: UsageError, found: Sequence[Binding]) -> UsageError:
    return UsageError(
        error.code,
        error.what,
        why="names differ, and type and shape do not decide it; on a generated sample the outputs "
        "agree in one pairing alone, which is not the order of the two signatures: a caller who "
        "passes inputs by position gets other results",
        fix="accept that order: "
        + " ".join(f"--bind-input {pair.reference}={pair.candidate}" for pair in found),
    )

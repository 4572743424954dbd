"""Choose the arrangement of axes in which the candidate takes an input of another shape.

A single arrangement that fits is used. Of several, the one under which the float64 outputs agree
with the reference's is used. Only if none does, the one that moves a single axis, as between
channels-first and channels-last, is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.chance import decisive
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.limits import MOST_LAYOUTS
from isomorph.core.messages import message
from isomorph.core.report import Binding, Finding, FindingEffect, FindingStatus
from isomorph.match.axis_layout import Rearrangement, arrangements, keeps_order
from isomorph.measure.distance import is_inexact, widen
from isomorph.sessions.fetched_feeds import Source, arranged, feeds_from

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel

_LOCATION_AND_SCALE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateInputs:
    """The inputs, outputs and oracle of a candidate."""

    inputs: Sequence[TensorSpec]
    outputs: Sequence[str]
    oracle: Callable[[], Session]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The arrangement chosen for one input of the candidate, and the reason."""

    input: str
    rearrangement: Rearrangement
    how: str


def choose_layouts(
    reference: EvaluatedModel,
    candidate: CandidateInputs,
    bindings: Sequence[Binding],
    stated: Mapping[str, tuple[int, ...]],
) -> tuple[Layout, ...]:
    """Return one layout for each bound input whose shape does not fit as it is."""
    specs = {spec.name: spec for spec in candidate.inputs}
    open_questions: dict[str, tuple[Rearrangement, ...]] = {}
    settled: list[Layout] = []
    for pair in bindings:
        array, spec = np.asarray(reference.feeds[pair.reference]), specs[pair.candidate]
        if pair.candidate in stated:
            settled.append(_stated(pair.candidate, array, stated[pair.candidate]))
        elif spec.shape is not None and not _fits(array.shape, spec):
            choices = arrangements(array.shape, spec.shape)
            if not choices:
                raise _no_fit(spec, array)
            open_questions[pair.candidate] = choices
    settled += [
        Layout(input=name, rearrangement=choices[0], how="the only arrangement that fits")
        for name, choices in open_questions.items()
        if len(choices) == 1
    ]
    several = {name: choices for name, choices in open_questions.items() if len(choices) > 1}
    if several:
        settled += _by_proof(reference, candidate, bindings, several, settled)
    return tuple(settled)


def rearranged(feeds: Mapping[str, Array], layouts: Sequence[Layout]) -> dict[str, Array]:
    """Return the feeds in the chosen arrangements."""
    return arranged(feeds, {layout.input: layout.rearrangement.array for layout in layouts})


def findings(layouts: Sequence[Layout]) -> Iterator[Finding]:
    """Yield one finding for each input in another arrangement."""
    for layout in layouts:
        yield Finding(
            code="INPUT_LAYOUT",
            cause="interface",
            status=FindingStatus.CONFIRMED,
            effect=FindingEffect.NONE,
            tensors=(layout.input,),
            summary=message(
                "INPUT_LAYOUT.moved",
                input=layout.input,
                arrangement=layout.rearrangement.text,
                how=layout.how,
            ),
        )


def _fits(shape: tuple[int, ...], spec: TensorSpec) -> bool:
    return (
        spec.shape is not None
        and len(spec.shape) == len(shape)
        and all(
            not isinstance(size, int) or size == real
            for size, real in zip(spec.shape, shape, strict=True)
        )
    )


def _by_proof(
    reference: EvaluatedModel,
    candidate: CandidateInputs,
    bindings: Sequence[Binding],
    several: Mapping[str, tuple[Rearrangement, ...]],
    settled: Sequence[Layout],
) -> list[Layout]:
    oracle_outputs = reference.oracle_outputs()
    sources = {p.candidate: Source(name=p.reference, convert=np.asarray) for p in bindings}
    feeds = rearranged(feeds_from(reference.feeds, sources), settled)
    trials: list[tuple[float, list[Layout]]] = []
    choices = list(product(*several.values()))
    untried = len(choices) - MOST_LAYOUTS
    how = "only with it the outputs agree"
    if untried > 0:
        how += f" of {MOST_LAYOUTS} that were tried; {untried} more were not"
    for choice in choices[:MOST_LAYOUTS]:
        layouts = [
            Layout(input=name, rearrangement=moved, how=how)
            for name, moved in zip(several, choice, strict=True)
        ]
        if not isinstance(oracle_outputs, IsomorphError):
            result = candidate.oracle().run(rearranged(feeds, layouts), list(candidate.outputs))
            seen = [np.asarray(result[name]) for name in candidate.outputs]
            far = apart(list(oracle_outputs.values()), seen)
            trials.append((far, layouts))
    trials.sort(key=lambda trial: trial[0])
    known = [] if isinstance(oracle_outputs, IsomorphError) else list(oracle_outputs.values())
    if trials and (len(trials) == 1 or trials[0][0] <= decisive_share(known) * trials[1][0]):
        return trials[0][1]
    return [_by_convention(name, choices) for name, choices in several.items()]


def decisive_share(right: Sequence[Array]) -> float:
    """Return how much closer the best arrangement must be than the next, to be no accident.

    Sorted outputs of a wrong arrangement have a similar distribution; only their mean and their
    spread are free. A single number has no spread.
    """
    elements = sum(array.size for array in right if is_inexact(array))
    return decisive(min(elements, _LOCATION_AND_SCALE))


def apart(left: Sequence[Array], right: Sequence[Array]) -> float:
    """Return the distance of two lists of outputs, whatever the order of their elements."""
    total = size = 0.0
    # An output that one side lacks does not depend on the order of the axes.
    for ref, cand in zip(left, right, strict=False):
        if ref.size != cand.size:
            return np.inf
        if is_inexact(ref) and is_inexact(cand):
            a, b = np.sort(widen(ref).ravel()), np.sort(widen(cand).ravel())
            total += float(np.nansum((a - b) ** 2))
            size += float(np.nansum(a * a))
    return float(np.sqrt(total / size)) if size > 0 else np.inf


def _by_convention(name: str, choices: Sequence[Rearrangement]) -> Layout:
    simple = [choice for choice in choices if keeps_order(choice)]
    if len(simple) != 1:
        axes = ",".join(map(str, choices[0].permutation))
        raise UsageError(
            "AMBIGUOUS_LAYOUT",
            f"input {name!r} of the candidate fits in {len(choices)} arrangements of the axes",
            why="some axes have equal sizes, and under none of them the outputs agree",
            fix=f"state which: --layout {name}={axes}",
        )
    how = "the only one that moves a single axis; under none the outputs agree"
    return Layout(input=name, rearrangement=simple[0], how=how)


def _stated(name: str, array: Array, permutation: tuple[int, ...]) -> Layout:
    if sorted(permutation) != list(range(array.ndim)):
        raise UsageError(
            "BAD_LAYOUT",
            f"{permutation} does not order the {array.ndim} axes of input {name!r}",
        )
    shape = tuple(array.shape[axis] for axis in permutation)
    moved = Rearrangement(permutation=permutation, shape=shape)
    return Layout(input=name, rearrangement=moved, how="stated by the user")


def _no_fit(spec: TensorSpec, array: Array) -> UsageError:
    declared = "×".join("?" if size is None else str(size) for size in spec.shape or ())
    return UsageError(
        "INPUT_SHAPE",
        f"input {spec.name!r} of the candidate cannot take the reference's array",
        why=f"it declares {declared}, the array is {'×'.join(map(str, array.shape))}",
        fix="give inputs that fit both, or bind another input: --bind-input REFERENCE=CANDIDATE",
    )

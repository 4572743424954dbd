"""From two subjects that differ to the trail of guilty nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.trace import Noise
from isomorph.localize.fault import Trail
from isomorph.localize.fault_chain import follow
from isomorph.localize.unrelated_models import strangers
from isomorph.localize.value_matcher import look_at
from isomorph.match.dequantized_graph import in_reals
from isomorph.match.tensor_capture import DRAWS, Sight
from isomorph.measure.precision import narrow_constants, quantised, widths

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.report import Finding
    from isomorph.match.value_match import Twins
    from isomorph.measure.evaluated_model import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The trail of guilt, and both sides as they were looked at.

    ``strangers`` says that these are two networks, where they are: then nothing is guilty.
    """

    trail: Trail
    twins: Twins
    strangers: Finding | None = None

    @property
    def unexplained(self) -> str | None:
        """What the nodes found do not explain, in words."""
        if self.trail.explained:
            return None
        names = self.trail.left_over
        whole = f"output {names[0]} is" if len(names) == 1 else f"outputs {', '.join(names)} are"
        return f"{whole} not explained by the nodes found"


def locate(reference: Subject, candidate: Subject, outputs: Sequence[tuple[str, str]]) -> Located:
    """Look at every tensor of both sides and follow the guilt."""
    left, right = reference.model.graph, candidate.model.graph
    twins = look(reference, candidate)
    # Numbers packed into another width have other sizes, and are the same weights.
    odd = strangers(left, right) if widths(left) == widths(right) else None
    if odd is not None:
        return Located(trail=Trail(guilts=(), explained=True), twins=twins, strangers=odd)
    return Located(trail=follow(twins, outputs), twins=twins)


def look(reference: Subject, candidate: Subject, *, draws: int = DRAWS) -> Twins:
    """Every tensor of both oracles, and how far noise moves each."""
    left, right = reference.model.graph, candidate.model.graph
    reference.settle()
    candidate.settle()
    rounding = Noise(seed=reference.seed, rounding=True)
    noise = rounding
    if widths(right) - widths(left):
        noise = Noise(
            seed=candidate.seed,
            rounding=True,
            constants=narrow_constants(right),
            quantisers=quantised(right),
        )
    mine = _sight(reference, in_reals(reference.oracle(), left), rounding)
    yours = _sight(candidate, in_reals(candidate.oracle(), right), noise)
    apart = reference.isolated and candidate.isolated
    return look_at(
        mine, yours, draws=draws, apart=apart, same_axes=_same_axes(reference, candidate)
    )


def _same_axes(reference: Subject, candidate: Subject) -> bool:
    """Whether nothing but a fault gives the two sides' outputs other shapes."""
    fed = [
        sorted(value.shape for value in side.feeds.values() if isinstance(value, np.ndarray))
        for side in (reference, candidate)
    ]
    return reference.model.framework == candidate.model.framework and fed[0] == fed[1]


def locate_execution(candidate: Subject, outputs: Sequence[str]) -> Located:
    """Where a run leaves its own oracle: the same walk, with the runtime as the suspect.

    The right value is put into the runtime itself, so what is proven is proven as deployed, as
    far as cutting the graph leaves it as deployed.
    """
    candidate.settle()
    oracle = _sight(candidate, candidate.oracle(), Noise(seed=candidate.seed, rounding=True))
    run = _sight(candidate, candidate.runtime(), None)
    twins = look_at(oracle, run)
    return Located(trail=follow(twins, [(name, name) for name in outputs]), twins=twins)


def _sight(subject: Subject, session: Session, noise: Noise | None) -> Sight:
    room = subject.opened.host.memory_bytes if subject.opened is not None else None
    return Sight(subject.model.graph, session, subject.feeds, noise, memory_bytes=room)

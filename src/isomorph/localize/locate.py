"""From two subjects that differ to the trail of guilty nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.trace import Noise
from isomorph.localize.fault import FaultChain
from isomorph.localize.fault_chain import follow
from isomorph.localize.unrelated_models import unrelated
from isomorph.localize.value_matcher import look_at
from isomorph.match.dequantized_graph import dequantized
from isomorph.match.tensor_capture import DRAWS, TensorCapture
from isomorph.measure.precision import narrow_constants, quantized, widths

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.report import Finding
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The trail of guilt, and both sides as they were looked at.

    ``unrelated`` says that these are two networks, where they are: then nothing is guilty.
    """

    chain: FaultChain
    matcher: ValueMatcher
    unrelated: Finding | None = None

    @property
    def unexplained(self) -> str | None:
        """What the nodes found do not explain, in words."""
        if self.chain.explained:
            return None
        names = self.chain.left_over
        whole = f"output {names[0]} is" if len(names) == 1 else f"outputs {', '.join(names)} are"
        return f"{whole} not explained by the nodes found"


def locate(
    reference: EvaluatedModel, candidate: EvaluatedModel, outputs: Sequence[tuple[str, str]]
) -> Located:
    """Look at every tensor of both sides and follow the guilt."""
    left, right = reference.model.graph, candidate.model.graph
    matcher = look(reference, candidate)
    # Numbers packed into another width have other sizes, and are the same weights.
    odd = unrelated(left, right) if widths(left) == widths(right) else None
    if odd is not None:
        return Located(chain=FaultChain(faults=(), explained=True), matcher=matcher, unrelated=odd)
    return Located(chain=follow(matcher, outputs), matcher=matcher)


def look(
    reference: EvaluatedModel, candidate: EvaluatedModel, *, draws: int = DRAWS
) -> ValueMatcher:
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
            quantizers=quantized(right),
        )
    ref = _capture(reference, dequantized(reference.oracle(), left), rounding)
    cand = _capture(candidate, dequantized(candidate.oracle(), right), noise)
    apart = reference.isolated and candidate.isolated
    return look_at(ref, cand, draws=draws, apart=apart, same_axes=_same_axes(reference, candidate))


def _same_axes(reference: EvaluatedModel, candidate: EvaluatedModel) -> bool:
    """Whether nothing but a fault gives the two sides' outputs other shapes."""
    fed = [
        sorted(value.shape for value in side.feeds.values() if isinstance(value, np.ndarray))
        for side in (reference, candidate)
    ]
    return reference.model.framework == candidate.model.framework and fed[0] == fed[1]


def locate_execution(candidate: EvaluatedModel, outputs: Sequence[str]) -> Located:
    """Where a run leaves its own oracle: the same walk, with the runtime as the suspect.

    The right value is put into the runtime itself, so what is proven is proven as deployed, as
    far as cutting the graph leaves it as deployed.
    """
    candidate.settle()
    oracle = _capture(candidate, candidate.oracle(), Noise(seed=candidate.seed, rounding=True))
    run = _capture(candidate, candidate.runtime(), None)
    matcher = look_at(oracle, run)
    return Located(chain=follow(matcher, [(name, name) for name in outputs]), matcher=matcher)


def _capture(subject: EvaluatedModel, session: Session, noise: Noise | None) -> TensorCapture:
    room = subject.opened.host.memory_bytes if subject.opened is not None else None
    return TensorCapture(subject.model.graph, session, subject.feeds, noise, memory_bytes=room)

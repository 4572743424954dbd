"""Locate the faulty nodes of two evaluated models that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.stated_numbers import TENSOR_DRAWS
from isomorph.core.trace import Noise
from isomorph.localize.beyond_type import first_beyond_type
from isomorph.localize.fault import Fault, FaultChain
from isomorph.localize.fault_chain import find_faults
from isomorph.localize.other_checkpoint import other_checkpoint
from isomorph.localize.unrelated_models import unrelated
from isomorph.localize.value_matcher import match_captures
from isomorph.match.dequantized_graph import dequantized
from isomorph.match.tensor_capture import TensorCapture
from isomorph.measure.comparand import unmatched_constants
from isomorph.measure.precision import lower_precision, narrow_constants, quantized, widths

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.report import Finding
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The faults, and the captured tensors of both models.

    ``unrelated`` is the finding that these are two networks or two checkpoints of one; then there
    are no faults.
    """

    chain: FaultChain
    matcher: ValueMatcher
    unrelated: Finding | None = None

    @property
    def unexplained(self) -> str | None:
        """The outputs that the faults do not explain, as text; None if there are none."""
        if self.chain.explained:
            return None
        names = self.chain.left_over
        key = "SKIPPED.unexplained_one.why" if len(names) == 1 else "SKIPPED.unexplained.why"
        return message(key, outputs=", ".join(names))


def locate(
    reference: EvaluatedModel,
    candidate: EvaluatedModel,
    outputs: Sequence[tuple[str, str]],
    known: Sequence[Fault] = (),
    *,
    related: bool = False,
) -> Located:
    """Capture every tensor of both models and search for faults, besides those that are known.

    ``related``: their weights have been found to correspond, in whatever sizes they are stored.
    """
    left, right = reference.model.graph, candidate.model.graph
    matcher = match_values(reference, candidate)
    # Weights that are packed into another width have other sizes.
    comparable = not related and widths(left) == widths(right)
    odd = unrelated(left, right) or other_checkpoint(reference, candidate) if comparable else None
    if odd is not None:
        return Located(chain=FaultChain(faults=(), explained=True), matcher=matcher, unrelated=odd)
    chain = find_faults(matcher, outputs, known)
    # An output that is wrong because it leaves its type agrees in float64: no node is off there.
    if not chain.faults and first_beyond_type(matcher, outputs) is None:
        # The noise of a value that jumps may hide the fault: a label may be any, one by one.
        exact = match_values(reference, candidate, draws=0)
        found = find_faults(exact, outputs, known)
        if found.faults:
            return Located(chain=found, matcher=exact)
    return Located(chain=chain, matcher=matcher)


def locate_below_rounding(
    reference: EvaluatedModel, candidate: EvaluatedModel, outputs: Sequence[tuple[str, str]]
) -> Located:
    """Search for faults that are smaller than rounding: only constants may be rounded again."""
    graphs = reference.model.graph, candidate.model.graph
    captures = [
        _capture(
            side,
            side.oracle(),
            Noise(seed=side.seed, constants=unmatched_constants(own, other), attributes=True),
        )
        for side, own, other in zip((reference, candidate), graphs, graphs[::-1], strict=True)
    ]
    apart = reference.isolated and candidate.isolated
    matcher = match_captures(*captures, apart=apart, same_axes=_same_axes(reference, candidate))
    return Located(chain=find_faults(matcher, outputs), matcher=matcher)


def match_values(
    reference: EvaluatedModel, candidate: EvaluatedModel, *, draws: int = TENSOR_DRAWS
) -> ValueMatcher:
    """Capture every tensor of both oracles with its noise, ready to be matched by value.

    Without draws, values match that are equal up to the rounding of float64.
    """
    left, right = reference.model.graph, candidate.model.graph
    reference.settle()
    candidate.settle()
    rounding = Noise(seed=reference.seed, rounding=True)
    noise = rounding
    if lower_precision(left, right):
        noise = Noise(
            seed=candidate.seed,
            rounding=True,
            constants=narrow_constants(right),
            quantizers=quantized(right),
            run_time=quantized(right),
        )
    ref = _capture(reference, dequantized(reference.oracle(), left), rounding)
    cand = _capture(candidate, dequantized(candidate.oracle(), right), noise)
    apart = reference.isolated and candidate.isolated
    return match_captures(
        ref, cand, draws=draws, apart=apart, same_axes=_same_axes(reference, candidate)
    )


def _same_axes(reference: EvaluatedModel, candidate: EvaluatedModel) -> bool:
    """Whether only a fault can give the outputs of the two models different shapes."""
    fed = [
        sorted(value.shape for value in side.feeds.values() if isinstance(value, np.ndarray))
        for side in (reference, candidate)
    ]
    return reference.model.framework == candidate.model.framework and fed[0] == fed[1]


def locate_execution(candidate: EvaluatedModel, outputs: Sequence[str]) -> Located:
    """Locate where a run differs from its own oracle: the same search, on the runtime.

    The right value is fed to the runtime itself, so a fault is proven as deployed, as far as
    cutting the graph does not change what the runtime does.
    """
    candidate.settle()
    noise = Noise(seed=candidate.seed, rounding=True, run_time=True, run_dtype=candidate.run_dtype)
    oracle = _capture(candidate, candidate.oracle(), noise)
    run = _capture(candidate, candidate.runtime(), None)
    matcher = match_captures(oracle, run)
    return Located(chain=find_faults(matcher, [(name, name) for name in outputs]), matcher=matcher)


def _capture(evaluated: EvaluatedModel, session: Session, noise: Noise | None) -> TensorCapture:
    memory_bytes = evaluated.handle.host.memory_bytes if evaluated.handle is not None else None
    return TensorCapture(
        evaluated.model.graph, session, evaluated.feeds, noise, memory_bytes=memory_bytes
    )

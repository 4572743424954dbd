"""Capture the tensors of both models and match them by value."""

from __future__ import annotations

from isomorph.core.stated_numbers import TENSOR_DRAWS
from isomorph.match.tensor_capture import TensorCapture
from isomorph.match.value_match import ValueMatcher
from isomorph.measure.parallel import run_parallel


def match_captures(
    reference: TensorCapture,
    candidate: TensorCapture,
    *,
    draws: int = TENSOR_DRAWS,
    apart: bool = False,
    same_axes: bool = False,
) -> ValueMatcher:
    """Compute both captures; in parallel where their workers are ``apart``."""
    run_parallel(lambda: reference.compute(draws), lambda: candidate.compute(draws), apart=apart)
    return ValueMatcher(reference, candidate, same_axes=same_axes)

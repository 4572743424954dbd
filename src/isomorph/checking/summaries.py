"""Models, inputs and failures, as the report of a check shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.inputs import feeds as feeding

if TYPE_CHECKING:
    from isomorph.core.errors import IsomorphError
    from isomorph.core.report import InputSummary, ModelSummary
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.sessions.model_handle import ModelHandle


def failure_reason(subject: EvaluatedModel, error: IsomorphError) -> str:
    """A failure as the reason of a verdict: who, what, and at which node."""
    at = f", at node {error.node!r}" if error.node else ""
    return f"{subject.role}: {error.what}{at}"


def model_summaries(opened: Sequence[ModelHandle]) -> tuple[ModelSummary, ...]:
    """The models, as the report shows them."""
    return tuple(each.summary for each in opened)


def input_summaries(sample: Sample) -> tuple[InputSummary, ...]:
    """The inputs of one sample, as the report shows them."""
    return feeding.summaries(sample.feeds, sample.origin)

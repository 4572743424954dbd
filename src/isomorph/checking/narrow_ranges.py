"""Judging the ranges of quantizers by the values that the given inputs bring to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.checking.verdict import Claim, Outcome
from isomorph.core.coverage import InputKind
from isomorph.core.divergence import Verdict
from isomorph.core.report import Experiment, Finding, FindingEffect, FindingStatus

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.verdict import Summary
    from isomorph.core.quantized_tensor import QuantizedTensor
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.worst_sample import Worst

_FIX = "calibrate the quantizer again on the values it sees"


def judge_ranges(
    worst: Worst, options: CheckConfig, summary: Summary, samples: Sequence[Sample]
) -> Outcome:
    """A finding for a quantizer whose range is too narrow, which makes the models differ.

    Only given inputs tell that: a range need not fit generated ones.
    """
    given = all(sample.kind is not InputKind.GENERATED for sample in samples)
    if summary.verdict is not Verdict.DEGRADED or not given or not samples:
        return Outcome()
    row = worst.narrow_range(asked=options.quantization)
    if row is None:
        return Outcome()
    reason = (
        f"the range of {row.tensor!r} is too narrow: it cuts off {row.clipped or 0.0:.1%} of the "
        f"values, and without it the error of the outputs is {row.gain or 0.0:.0%} smaller"
    )
    claim = Claim(verdict=Verdict.DIVERGENT, reason=reason)
    return Outcome(located=(_finding(row),), claims=(claim,))


def _finding(row: QuantizedTensor) -> Finding:
    low, high = row.representable or (0.0, 0.0)
    text = (
        f"the quantizer's range ({low:.3g} … {high:.3g}) cuts off {row.clipped or 0.0:.1%} of the "
        f"values of {row.tensor!r}; an ideal one of its width loses {row.lost_db:.0f} dB less"
    )
    return Finding(
        code="GUILTY_NODE",
        cause="quantization",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        summary=text,
        node=row.node,
        nodes=(row.node,) if row.node is not None else (),
        tensors=(row.tensor,),
        evidence={"clipped": row.clipped, "lost_db": row.lost_db, "gain": row.gain},
        experiments=(
            Experiment(
                question="Is the range of the quantizer too narrow?",
                change=f"{row.tensor!r} stays in float",
                predicts="the outputs come much nearer to the reference's",
                seen=f"their error is {row.gain or 0.0:.0%} smaller",
                agrees=True,
            ),
        ),
        fix=_FIX,
    )

"""Scale, zero point, axis or range of a quantiser do not fit the values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isomorph.core.case import Case, Diagnosis
from isomorph.stages.measure.widths import QUANTISED_OPS


class Quantization:
    """A quantiser loses more than its width has to.

    Recognised where the first wrong tensor comes out of a quantiser or of quantised arithmetic
    although what goes in is right.
    """

    name = "quantization"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Compare what the quantiser kept with what went in."""
        ops = {node.op for node in case.nodes}
        if not ops & QUANTISED_OPS:
            return
        yield Diagnosis(
            cause="quantization",
            certainty=3,
            summary=_range(case),
            evidence={"operators": sorted(ops & QUANTISED_OPS)},
            fix="calibrate the quantiser again on the values it sees",
        )


def _range(case: Case) -> str:
    """Whether values are cut off, shifted, or merely coarse."""
    right, wrong = case.right.astype(np.float64), case.wrong.astype(np.float64)
    low, high = float(np.min(wrong)), float(np.max(wrong))
    cut = float(np.mean((right < low) | (right > high))) if right.size else 0.0
    shift = float(np.mean(wrong - right)) if right.size else 0.0
    spread = float(np.std(wrong - right)) if right.size else 0.0
    if cut > 0.01:
        return f"the quantiser's range cuts off {cut:.0%} of the values ({low:.3g} … {high:.3g})"
    if abs(shift) > spread:
        return f"the quantiser shifts its values by {shift:.3g}: its zero point is off"
    return "the quantiser is coarser than its width has to be: its scale does not fit the values"

"""A narrower float where it hurts: overflow to infinity, or too few digits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isomorph.core.case import Case, Diagnosis

_NARROW = ("float16", "bfloat16", "float8")


class Precision:
    """float16, bfloat16 or tf32 where the values are too large or too fine for it.

    Recognised where a narrow float stands between right inputs and a wrong result, and the
    result overflows or is off by about that type's unit roundoff.
    """

    name = "precision"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Speak where a narrow float type is in the way."""
        narrow = [
            spec.dtype
            for node in case.nodes
            for name in node.outputs
            if (spec := case.candidate.tensors.get(name)) is not None
            and (spec.dtype or "").startswith(_NARROW)
        ]
        if not narrow:
            return
        overflow = bool(np.isfinite(case.right).all() and not np.isfinite(case.wrong).all())
        yield Diagnosis(
            cause="precision",
            certainty=3 if overflow else 1,
            summary=f"the values {'overflow' if overflow else 'are too fine for'} {narrow[0]}",
            evidence={"type": narrow[0], "largest": float(np.max(np.abs(case.right)))},
            fix="keep this tensor in float32",
        )

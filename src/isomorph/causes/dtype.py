"""A value passes through a type that cannot hold it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isomorph.core.case import Case, Diagnosis


class Dtype:
    """Narrowing, overflow of an integer, truncation, integer against float division.

    Recognised where a cast, or a division in another type than the reference's, stands between
    right inputs and a wrong result.
    """

    name = "dtype"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Speak where the nodes in question change the type and the values are finite."""
        casts = [node for node in case.nodes if node.op in {"Cast", "CastLike"}]
        if not casts or not _finite(case):
            return
        types = [_type(case, node.outputs[0]) for node in casts]
        yield Diagnosis(
            cause="dtype",
            certainty=2,
            summary=f"values pass through {', '.join(dict.fromkeys(types))} and are changed by it",
            evidence={"casts": [node.name for node in casts]},
            fix="keep the reference's type",
        )


def _finite(case: Case) -> bool:
    if case.wrong.dtype.kind != "f":
        return True
    return bool(np.isfinite(case.wrong).all() or not np.isfinite(case.right).all())


def _type(case: Case, tensor: str) -> str:
    spec = case.candidate.tensors.get(tensor)
    return (spec.dtype if spec is not None else None) or "another type"

"""A value passes through a type that cannot hold it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.case import Case, Diagnosis

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node


class Dtype:
    """Narrowing, overflow of an integer, truncation, integer against float division.

    Recognised where a cast, or a division in another type than the reference's, stands between
    right inputs and a wrong result.
    """

    name = "dtype"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Speak where the nodes in question change the type and the values are finite."""
        mine, theirs = _kinds(case.candidate, case.nodes), _kinds(case.reference, case.counterparts)
        for op in sorted(mine.keys() & theirs.keys()):
            if mine[op] != theirs[op]:
                yield Diagnosis(
                    cause="dtype",
                    certainty=2,
                    summary=f"{op} is computed in {mine[op]}, the reference's in {theirs[op]}",
                    fix="compute it in the reference's type",
                )
                return
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


def _kinds(graph: Graph, nodes: Sequence[Node]) -> dict[str, str]:
    """Whether each operator that computes does so on integers or on floats."""
    found = {}
    for node in nodes:
        for name in node.inputs:
            spec = graph.tensors.get(name)
            if spec is not None and spec.dtype and node.op not in {"Cast", "CastLike"}:
                found[node.op] = "floats" if "float" in spec.dtype else "integers"
                break
    return found


def _finite(case: Case) -> bool:
    if case.wrong.dtype.kind != "f":
        return True
    return bool(np.isfinite(case.wrong).all() or not np.isfinite(case.right).all())


def _type(case: Case, tensor: str) -> str:
    spec = case.candidate.tensors.get(tensor)
    return (spec.dtype if spec is not None else None) or "another type"

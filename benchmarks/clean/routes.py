"""Which conversions of one model are compared with which, and the verdicts that are right."""

from __future__ import annotations

from dataclasses import dataclass

SAME = frozenset({"equivalent"})
LOSSY = frozenset({"equivalent", "degraded"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which two conversions of one model are compared, and the verdicts that are right."""

    reference: str
    candidate: str
    right: frozenset[str] = SAME
    narrow_inputs: bool = False
    """Both sides take float16 inputs."""
    often: bool = False
    """On every seed; the others on the first alone, for they are many."""

    @property
    def narrow(self) -> bool:
        """Whether the candidate computes in less than float32."""
        return self.right == LOSSY


ROUTES = (
    Route(reference="torch", candidate="dynamo", often=True),
    Route(reference="torch", candidate="dynamo_plain"),
    Route(reference="torch", candidate="dynamo_opset_23"),
    Route(reference="torch", candidate="legacy", often=True),
    Route(reference="torch", candidate="legacy_opset_11"),
    Route(reference="torch", candidate="torch_decomposed"),
    Route(reference="torch", candidate="ort_basic"),
    Route(reference="torch", candidate="ort_all", often=True),
    Route(reference="torch", candidate="folded"),
    Route(reference="dynamo_plain", candidate="ort_all"),
    Route(reference="dynamo_plain", candidate="folded"),
    Route(reference="dynamo_plain", candidate="onnxsim"),
    Route(reference="dynamo", candidate="legacy", often=True),
    Route(reference="legacy", candidate="ort_extended", often=True),
    Route(reference="legacy", candidate="newer_opset"),
    Route(reference="legacy", candidate="onnxslim"),
    Route(reference="dynamo", candidate="float16", right=LOSSY),
    Route(reference="torch", candidate="float16", right=LOSSY, often=True),
    Route(reference="torch_half", candidate="dynamo_half", right=LOSSY, narrow_inputs=True),
)

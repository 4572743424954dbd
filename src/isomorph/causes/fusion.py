"""An optimiser joined nodes and changed what they do."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.case import Case, Diagnosis
from isomorph.stages.diagnose import constants


class Fusion:
    """A fused operator that does not do what its parts did.

    Recognised where one node of an extension domain stands for several of the reference, and
    its weights are right.
    """

    name = "fusion"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Speak where the guilty node is a fused one."""
        if "::" not in case.node.native_op or constants.unmatched(case) or case.scattered:
            return
        parts = " + ".join(dict.fromkeys(node.op for node in case.counterparts))
        yield Diagnosis(
            cause="fusion",
            certainty=3,
            summary=f"the fused {case.node.op} is not {parts or 'what it stands for'}",
            evidence={"attributes": {k: str(v) for k, v in case.node.attributes.items()}},
            fix="switch off the optimiser that made it, or mend its attributes",
        )

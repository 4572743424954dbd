"""The wrong branch, the wrong number of rounds, the wrong side of a selection."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.case import Case, Diagnosis

_DECIDING = frozenset({"If", "Loop", "Scan", "While", "Where", "Case"})


class ControlFlow:
    """A branch or a trip count that is frozen or exchanged, or a condition that is inverted.

    Recognised where a deciding operator gives a wrong result although what it decides upon and
    what it chooses from are right.
    """

    name = "control_flow"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Speak where the guilty node decides."""
        if case.node.op in _DECIDING:
            yield Diagnosis(
                cause="control_flow",
                certainty=3,
                summary=f"{case.node.op} takes another branch than the reference "
                "on the same condition",
                fix="exchange the branches, or do not invert the condition",
            )

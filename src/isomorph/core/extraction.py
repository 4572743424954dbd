"""The smallest pair of models that still shows a fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What was cut out around a node, and the report of its check.

    ``reference`` is None where the run is wrong and the graph is right: then the part is compared
    against its own oracle. ``command`` shows the difference, from inside ``folder``. ``whole``
    states that the part begins at the model's inputs, because no smaller one shows the fault.
    """

    node: str
    candidate: str
    inputs: str
    command: str
    report: Report
    reference: str | None = None
    whole: bool = False
    folder: str = ""
    nodes: int = 0
    nodes_before: int = 0

    @property
    def shows(self) -> bool:
        """Whether the part alone is still divergent."""
        return self.report.verdict.value == "divergent"

    @property
    def exit_code(self) -> int:
        """0 where the part shows the fault, 1 where it does not."""
        return 0 if self.shows else 1

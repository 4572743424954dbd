"""Whether a model repeats itself: one that does not can neither convict nor be convicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.stages.measure.compare import differs
from isomorph.stages.measure.findings import random_nodes

if TYPE_CHECKING:
    from isomorph.stages.measure.subject import Subject


def unsteady(subject: Subject) -> tuple[str, ...]:
    """The outputs that differ between two runs, as deployed or, with random nodes, as written."""
    pairs = [(subject.as_run, subject.again)]
    if random_nodes(subject.model.graph):
        # An optimiser may remove the random node; the file still carries it.
        pairs.append((subject.as_written, subject.as_written_again))
    for once, twice in pairs:
        one = once()
        if isinstance(one, IsomorphError):
            return ()  # what failed once is not asked to fail again
        other = twice()
        if not isinstance(other, IsomorphError) and (outputs := differs(one, other)):
            return outputs
    return ()

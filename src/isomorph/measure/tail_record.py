"""What the noise of the tails could not explain so far, on all samples of a check.

Numbers that the last nodes hardly round (a key of which they only join the halves) are as far
beyond their noise on every sample: the whole graphs are drawn there anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.measure.evaluated_tail import EvaluatedTail


@dataclass(slots=True)
class TailRecord:
    """Whether an error of an equivalent output was beyond what any draws of the tails explain."""

    beyond: bool = False

    def note_beyond(self) -> None:
        """An error was."""
        self.beyond = True

    def needless(self, tails: Sequence[EvaluatedTail]) -> bool:
        """Whether these tails are not worth a draw; what they have drawn already is of use."""
        return self.beyond and not all(tail.drawn for tail in tails)

"""What the tails of two graphs settled so far, on all samples of a check.

Where they left a doubt on one sample, the whole graphs were drawn for it, and will be for the next:
noise in the tails would be drawn for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.measure.evaluated_tail import EvaluatedTail


@dataclass(slots=True)
class TailRecord:
    """Whether an output was left in doubt."""

    left_doubt: bool = False

    def note_doubt(self) -> None:
        """The tails left a doubt that takes draws of the whole graphs."""
        self.left_doubt = True

    def needless(self, tails: Sequence[EvaluatedTail]) -> bool:
        """Whether these tails are not worth a draw; what they have drawn already is of use."""
        return self.left_doubt and not all(tail.drawn for tail in tails)

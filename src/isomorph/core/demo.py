"""The files of ``isomorph demo``, which a framework writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

WRONG_EPSILON = 1e-4
"""The planted fault: the epsilon of one normalization, instead of 1e-5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFiles:
    """A model, two conversions of it, and what was done to the second."""

    reference: Path
    faithful: Path
    altered: Path
    node: str
    """The node with the fault, as it was called before the conversion."""
    change: str
    """The fault in words."""
    made_by: str
    """The conversion in words."""

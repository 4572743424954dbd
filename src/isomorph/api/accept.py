"""``isomorph accept``: record an examined divergence in a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.baseline import Accepted


def accept(
    report: str | Path,
    *,
    why: str,
    who: str | None = None,
    until: str | None = None,
    pair: str | None = None,
    baseline: str | Path,
) -> tuple[Accepted, ...]:
    """Record an examined divergence in a baseline file; returns the entries written."""
    from isomorph.checking.accept import accept_report

    return accept_report(Path(report), Path(baseline), why=why, who=who, until=until, pair=pair)

"""What ``isomorph doctor`` finds: each package, extension and fact of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class InstallationStatus(StrEnum):
    """Whether something that a check may need works here."""

    OK = "ok"
    MISSING = "missing"
    """Not installed; an extra brings it."""
    OLD = "old"
    """Below the version that is needed."""
    BROKEN = "broken"
    """Installed, and it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationItem:
    """One package, extension or fact of the machine; ``version`` is None where it has none."""

    kind: str
    name: str
    version: str | None
    status: InstallationStatus
    detail: str = ""
    advice: str | None = None
    """The command that would mend it."""
    extra: str | None = None
    """The extra of isomorph that brings it."""

"""What workers use of the standard library of Python 3.11, for those that run in 3.10.

Only workers of other environments run there; isomorph itself needs Python 3.11.
"""

from __future__ import annotations

import datetime
import enum
import hashlib
import sys
import typing
from typing import Any


def complete_standard_library() -> None:
    """Add the names that later modules import; nothing happens in Python 3.11 and later."""
    if sys.version_info[:2] != (3, 10):
        return
    _add(enum, "StrEnum", _StrEnum)
    _add(hashlib, "file_digest", _file_digest)
    _add(datetime, "UTC", datetime.timezone.utc)  # noqa: UP017 - 3.10 has no other name
    for name in ("Self", "Unpack", "Never", "NotRequired", "Required"):
        _add(typing, name, Any)
    # It is imported last: it needs what stands above.
    from isomorph.core.errors import IsomorphError

    IsomorphError.add_note = _add_note


def _add(module: Any, name: str, value: Any) -> None:  # noqa: ANN401
    if not hasattr(module, name):
        setattr(module, name, value)


class _StrEnum(str, enum.Enum):  # noqa: UP042 - this is what 3.10 lacks
    """As ``enum.StrEnum``."""

    __str__ = str.__str__

    @staticmethod
    def _generate_next_value_(name: str, *_: Any) -> str:  # noqa: ANN401
        return name.lower()


def _file_digest(file: Any, algorithm: str) -> Any:  # noqa: ANN401
    """As ``hashlib.file_digest``."""
    digest = hashlib.new(algorithm)
    while data := file.read(1 << 20):
        digest.update(data)
    return digest


def _add_note(error: Any, note: str) -> None:  # noqa: ANN401
    """As ``BaseException.add_note``."""
    error.__notes__ = [*getattr(error, "__notes__", ()), note]

"""Errors by their key: the catalog has their texts, the place that raises them has the facts."""

from __future__ import annotations

from typing import TypeVar

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import CATALOG, message

E = TypeVar("E", bound=IsomorphError)


def error_of(kind: type[E], key: str, /, *, file: str | None = None, **facts: object) -> E:
    """The error of this key, ``CODE.variant``; what it does not say about a fix its code says."""

    def text(part: str) -> str | None:
        name = f"ERROR.{key}.{part}"
        return message(name, **facts) if name in CATALOG else None

    what = message(f"ERROR.{key}.what", **facts)
    return kind(key.partition(".")[0], what, file=file, why=text("why"), fix=text("fix"))

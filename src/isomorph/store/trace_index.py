"""The JSON file at the head of a trace or a record: a schema, a digest, and the content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isomorph.core.errors import UnreadableModelError
from isomorph.core.untrusted_json import read_json

_MOST_BYTES = 256 << 20


def write_index(
    path: Path, schema: str, body: Mapping[str, Any], *, indent: int | None = None
) -> None:
    """Write the content with its schema and its digest."""
    index = {"schema": schema, "digest": _digest(body), **body}
    path.write_text(json.dumps(index, indent=indent), encoding="ascii")


def read_index(path: Path, schema: str) -> tuple[dict[str, Any], str]:
    """The content, provided that it has this schema and matches its digest; and the digest."""
    folder = path.parent
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise damaged(folder, f"{path.name} is longer than {_MOST_BYTES} bytes")
        body = read_json(path.read_bytes())
        found, digest = body.pop("schema"), body.pop("digest")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise damaged(folder, f"{path.name} cannot be read: {error}") from error
    if found != schema:
        raise UnreadableModelError(
            "TRACE_TOO_NEW",
            "the trace is of another version",
            file=str(folder),
            why=f"its schema is {found!r}; this isomorph reads {schema!r}",
        )
    if _digest(body) != digest:
        raise damaged(folder, f"{path.name} does not match its digest")
    return body, digest


def damaged(folder: Path, why: str, *, tensor: str | None = None) -> UnreadableModelError:
    """The error for a trace that is not as it was recorded."""
    return UnreadableModelError(
        "TRACE_DAMAGED",
        "the trace is damaged",
        file=str(folder),
        where=f"tensor {tensor!r}" if tensor is not None else None,
        why=why,
        fix="record it again",
    )


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("ascii")).hexdigest()

"""JSON from untrusted files.

Python's parser goes one level deeper into the C stack for every bracket and counts on the
interpreter's recursion limit to stop it. Converters raise that limit when they are imported,
onnx2tf to the largest integer there is; brackets enough then end the process. So the depth is
bounded here, whatever the limit.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

# More than any report, trace or network nests; far less than the smallest usual stack holds.
DEEPEST = 2_000
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


def read_json(
    text: str | bytes, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:  # noqa: ANN401
    """The parsed text; RecursionError where it is nested too deeply, ValueError for no JSON."""
    if sys.getrecursionlimit() > DEEPEST:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        _bound(text)
    return json.loads(text, object_pairs_hook=pairs)


def _bound(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for mark in _MARK.finditer(text):
        first = mark[0][0]
        if first in "[{":
            depth += 1
            if depth > DEEPEST:
                raise RecursionError(f"nested more than {DEEPEST} levels deep")
        elif first in "]}":
            depth -= 1

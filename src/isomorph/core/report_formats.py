"""Which format of a report a file has, by the ending of its name."""

from __future__ import annotations

from collections.abc import Mapping

BY_SUFFIX: Mapping[str, str] = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".xml": "junit",
    ".sarif": "sarif",
    ".md": "markdown",
    ".txt": "terminal",
}

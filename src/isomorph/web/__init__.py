"""The page that draws a report: one file, built from ``web/`` and shipped as it is."""

from __future__ import annotations

from importlib.resources import files

DATA = "ISOMORPH-REPORT"
"""Where in the bundle the report goes."""


def bundle() -> str:
    """The page without a report."""
    return files("isomorph.web").joinpath("page.html").read_text(encoding="utf-8")


def page(data: str) -> str:
    """The page around ``data``, which is JSON in ASCII."""
    head, mark, tail = bundle().partition(DATA)
    if not mark or DATA in tail:
        raise ValueError(f"the bundle has not exactly one place for the report ({DATA})")
    # Inside a script element nothing is markup but the start of its end tag, and a comment:
    # without "<" there is neither. JSON knows the character by its number as well.
    return head + data.replace("<", "\\u003c") + tail

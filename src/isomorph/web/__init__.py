"""The pages that draw a report and a diff, each one file that is built from ``web/``."""

from __future__ import annotations

import base64
import gzip
import json
from importlib.resources import files

DATA = "ISOMORPH-REPORT"
"""Where in the bundle the report goes."""

PACKED_FROM = 1 << 20
"""From this length on the report is compressed: pages are attached to messages."""


def bundle(name: str = "page") -> str:
    """A page without its data: ``page`` of a report, or ``diff``."""
    return files("isomorph.web").joinpath(f"{name}.html").read_text(encoding="utf-8")


def page(data: str) -> str:
    """The page of a report around ``data``, which is JSON in ASCII."""
    return _filled(bundle(), data)


def diff_page(data: str) -> str:
    """The page of a diff of two models or two reports around ``data``, which is JSON in ASCII."""
    return _filled(bundle("diff"), data)


def _filled(bundle: str, data: str) -> str:
    head, mark, tail = bundle.partition(DATA)
    if not mark or DATA in tail:
        raise ValueError(f"the bundle has not exactly one place for the report ({DATA})")
    # Inside a script element nothing is markup but the start of its end tag, and a comment:
    # without "<" there is neither. JSON knows the character by its number as well.
    return head + _packed(data).replace("<", "\\u003c") + tail


def _packed(data: str) -> str:
    """Long data as one JSON string, which the page unpacks: gzip in base64."""
    if len(data) < PACKED_FROM:
        return data
    return json.dumps(base64.b64encode(gzip.compress(data.encode(), mtime=0)).decode())

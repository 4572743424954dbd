"""The guide for coding agents that ``isomorph explain --agents`` prints."""

from __future__ import annotations

from importlib.resources import files


def agents_guide() -> str:
    """Markdown: what to run, how to read the JSON, and what not to do."""
    return files("isomorph.reporters").joinpath("agents.md").read_text(encoding="utf-8")

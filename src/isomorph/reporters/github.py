"""The report as annotations of a GitHub workflow step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.reporters._annotations import (
    command_property,
    command_text,
    level,
    place,
    sentence,
    title,
)

if TYPE_CHECKING:
    from isomorph.core.report import Finding, Report

MOST = 10
"""GitHub shows ten errors and ten warnings of one step, and drops the rest without a word."""


class GithubReporter:
    """Workflow commands: an error or warning at the line of the model's source.

    The verdict comes first; what exceeds the limit is counted in its message. Where the step has
    a summary (``GITHUB_STEP_SUMMARY``), the Markdown report is added to it.
    """

    name = "github"
    profile = False
    follows = True
    environment_files: Mapping[str, str] = {"GITHUB_STEP_SUMMARY": "markdown"}
    """The file that a variable names gets the report in another format as well."""

    def render(self, report: Report) -> str:
        """At most ten errors and ten warnings."""
        return "\n".join(_commands(report)) + "\n"


def _commands(report: Report) -> Iterator[str]:
    found: dict[str, list[Finding]] = {"error": [], "warning": []}
    for finding in report.findings:
        found.get(level(finding, report), []).append(finding)
    headline = {0: "notice", 1: "error"}.get(report.exit_code, "error")
    # The verdict itself is one of the ten errors.
    limits = {"error": MOST - (headline == "error"), "warning": MOST}
    dropped = sum(max(0, len(all_of) - limits[word]) for word, all_of in found.items())
    covers = report.headline.removeprefix(str(report.verdict).upper())
    text = f"{report.verdict}{printable(covers)}: {printable(report.reason)}"
    if dropped:
        text += message("REPORT.dropped_findings", count=dropped)
    yield _command(headline, {"title": f"isomorph: {title(report)}"}, text)
    for word, all_of in found.items():
        for finding in all_of[: limits[word]]:
            file, line = place(finding, report)
            where = {} if file is None else {"file": printable(file)}
            where |= {"line": str(line)} if line and where else {}
            yield _command(word, {**where, "title": _heading(finding)}, sentence(finding))


def _heading(finding: Finding) -> str:
    where = f" at {printable(finding.node, limit=120)}" if finding.node else ""
    return f"{printable(finding.code)}{where}"


def _command(word: str, properties: dict[str, str], text: str) -> str:
    listed = ",".join(f"{key}={command_property(value)}" for key, value in properties.items())
    return f"::{word} {listed}::{command_text(text)}"

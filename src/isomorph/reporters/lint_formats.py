"""Remarks as text for people, for GitHub's annotations, and as SARIF."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isomorph import registry
from isomorph.core.lint import Lint, Remark, Severity
from isomorph.core.messages import message
from isomorph.reporters._annotations import command_property, command_text

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MOST_PLACES = 4
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def lines(lint: Lint) -> Iterator[str]:
    """One block for each distinct message with all of its places, and the number of remarks."""
    places_by_text: dict[tuple[str, ...], list[str]] = {}
    for remark in lint.remarks:
        key = (f"{remark.severity}[{remark.code}] {remark.message}", remark.advice)
        places_by_text.setdefault(key, []).append(_place(remark))
    for (heading, advice), places in places_by_text.items():
        known = [place for place in places if place]
        yield heading
        yield from (f"  at   {place}" for place in known[:_MOST_PLACES])
        if len(known) > _MOST_PLACES:
            yield "       " + message("REPORT.more", count=len(known) - _MOST_PLACES)
        yield f"  fix  {advice}"
        yield ""
    yield from (f"skipped  {each.what}: {each.why}" for each in lint.skipped)
    counted = Counter(remark.severity for remark in lint.remarks)
    there = [(counted[level], level) for level in Severity if counted[level]]
    counts = ", ".join(f"{many} {level}{'s' * (many > 1)}" for many, level in there)
    target = message("LINT.on_the_way", target=lint.to) if lint.to else ""
    yield f"{lint.model.location}: {counts or 'nothing to remark'}{target}"


def _place(remark: Remark) -> str:
    parts = []
    if remark.node is not None:
        parts.append(f"node {remark.node}")
    if remark.tensor is not None:
        parts.append(f"tensor {remark.tensor}")
    if remark.source is not None and remark.source.file:
        parts.append(f"{remark.source.file}:{remark.source.line or 0}")
    return ", ".join(parts)


def github(lint: Lint) -> Iterator[str]:
    """Workflow commands; names from a model are escaped, so that none of them is a command."""
    for remark in lint.remarks:
        file, line = _file(lint, remark)
        at_line = f",line={line}" if line else ""
        about = f"file={command_property(file)},title={remark.code}{at_line}"
        place = f" ({_place(remark)})" if _place(remark) else ""
        text = f"{remark.message}{place}. {remark.advice}"
        yield f"::{_COMMANDS[remark.severity]} {about}::{command_text(text)}"


def _file(lint: Lint, remark: Remark) -> tuple[str, int | None]:
    if remark.source is not None and remark.source.file:
        return remark.source.file, remark.source.line
    return lint.model.location, None


def sarif(lint: Lint) -> dict[str, Any]:
    """A SARIF 2.1.0 log with one run."""
    rules = sorted({(remark.code, remark.check) for remark in lint.remarks})
    places = {code: place for place, (code, _) in enumerate(rules)}
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "isomorph lint",
                        "version": lint.version,
                        "rules": [_rule(code, name) for code, name in rules],
                    }
                },
                "results": [_result(lint, each, places[each.code]) for each in lint.remarks],
            }
        ],
    }


def _rule(code: str, name: str) -> dict[str, Any]:
    page = inspect.getdoc(type(registry.rule(name))) or name
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": page.splitlines()[0]},
        "fullDescription": {"text": page},
    }


def _result(lint: Lint, remark: Remark, place: int) -> dict[str, Any]:
    file, line = _file(lint, remark)
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": Path(file).as_posix()}}
    }
    if line:
        location["physicalLocation"]["region"] = {"startLine": line}
    names = [name for name in (remark.node, remark.tensor) if name is not None]
    if names:
        location["logicalLocations"] = [{"fullyQualifiedName": name} for name in names]
    return {
        "ruleId": remark.code,
        "ruleIndex": place,
        "level": _LEVELS[remark.severity],
        "message": {"text": f"{remark.message}. {remark.advice}"},
        "locations": [location],
    }

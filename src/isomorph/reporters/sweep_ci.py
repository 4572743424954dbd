"""A sweep for continuous integration: a test for each cell (JUnit), an alert for each (SARIF)."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.core.sweep import CellStatus
from isomorph.reporters.junit import xml_text
from isomorph.reporters.sarif import MOST_RESULTS, SCHEMA
from isomorph.reporters.sweep_text import column

if TYPE_CHECKING:
    from isomorph.core.sweep import CellResult, Sweep

_RULES = {
    "divergent": ("error", "SWEEP.divergent"),
    "unknown": ("warning", "SWEEP.unknown"),
    "open": ("note", "SWEEP.open"),
    "unrepaired": ("error", "SWEEP.unrepaired"),
    "error": ("error", "SWEEP.error"),
    "lost": ("error", "SWEEP.lost"),
}
_TOOL = "isomorph sweep"


def as_junit(found: Sweep) -> str:
    """A suite for each environment, a test for each model; what is not done is skipped."""
    root = ET.Element("testsuites", {"name": _TOOL, **_counts(list(found.cells))})
    suites: dict[str, list[CellResult]] = {}
    for each in found.cells:
        suites.setdefault(column(each), []).append(each)
    for name, cells in suites.items():
        skipped = sum(each.status is CellStatus.LEFT for each in cells)
        about = {"name": xml_text(printable(name)), "skipped": str(skipped), **_counts(cells)}
        suite = ET.SubElement(root, "testsuite", about)
        suite.extend(_case(each, found) for each in cells)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _counts(cells: list[CellResult]) -> dict[str, str]:
    kinds = [_kind(each) for each in cells]
    return {
        "tests": str(len(cells)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "time": f"{sum(each.seconds for each in cells):.3f}",
    }


def _kind(cell: CellResult) -> str:
    """``failure`` for what exits with 1, ``error`` for any other exit code than 0."""
    if cell.status is CellStatus.LEFT:
        return "skipped"
    if cell.exit_code == 0:
        return ""
    return "failure" if cell.exit_code == 1 else "error"


def _case(cell: CellResult, found: Sweep) -> ET.Element:
    case = ET.Element("testcase", {
        "name": xml_text(printable(cell.model)),
        "classname": xml_text(printable(f"isomorph.{column(cell)}")),
        "time": f"{cell.seconds:.3f}",
    })  # fmt: skip
    kind = _kind(cell)
    if not kind:
        ET.SubElement(case, "system-out").text = xml_text(printable(cell.headline))
        return case
    message = {"message": xml_text(printable(cell.reason))} if cell.reason else {}
    about = message if kind == "skipped" else {"type": cell.outcome, **message}
    ET.SubElement(case, kind, about).text = xml_text(_details(cell, found))
    return case


def _details(cell: CellResult, found: Sweep) -> str:
    """The node, its cause, the error and the report, as far as they are known."""
    parts = [
        message("SWEEP.node", node=printable(cell.node)) if cell.node else "",
        message("SWEEP.cause", cause=cell.cause) if cell.cause else "",
        message("SWEEP.share", ratio=cell.ratio) if cell.ratio is not None else "",
        message("SWEEP.report", file=f"{printable(found.store)}/{cell.report}")
        if cell.report
        else "",
    ]
    return "; ".join(part for part in parts if part)


def as_sarif(found: Sweep) -> str:
    """One run; an alert for each cell that is not fine, known again by its name."""
    wrong = [each for each in found.cells if each.outcome in _RULES][:MOST_RESULTS]
    rules = [each for each in _RULES if any(cell.outcome == each for cell in wrong)]
    run = {
        "tool": {"driver": {
            "name": _TOOL, "version": found.version or "0",
            "rules": [
                {
                    "id": f"CELL_{each.upper()}",
                    "shortDescription": {"text": f"{message(_RULES[each][1])}."},
                }
                for each in rules
            ],
        }},
        "results": [_result(each, found, rules) for each in wrong],
        "properties": {"cells": len(found.cells), "outcomes": found.counted()},
        "columnKind": "unicodeCodePoints",
    }  # fmt: skip
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False)


def _result(cell: CellResult, found: Sweep, rules: list[str]) -> dict[str, Any]:
    outcome = message("SWEEP.cell", cell=printable(cell.name), outcome=cell.outcome)
    text = "; ".join(filter(None, (outcome, printable(cell.reason), _details(cell, found))))
    return {
        "ruleId": f"CELL_{cell.outcome.upper()}",
        "ruleIndex": rules.index(cell.outcome),
        "level": _RULES[cell.outcome][0],
        "message": {"text": text},
        "partialFingerprints": {"isomorphCell/v1": printable(f"{cell.name} {cell.outcome}")},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": PurePath(found.file).name or "sweep.toml"},
                "region": {"startLine": 1},
            },
            "logicalLocations": [{"fullyQualifiedName": printable(cell.name)}],
        }],
    }  # fmt: skip

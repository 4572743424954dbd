"""The report as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.diagnose.explain import codes
from isomorph.reporters._annotations import accepted, identity, level, place, sentence

if TYPE_CHECKING:
    from isomorph.core.report import Finding, Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 5000
"""More than this many results of one run are not shown by code scanning."""


class SarifReporter:
    """One result for each finding, at the line of the model's source where that is known.

    ``ruleId`` is the finding's code; the fingerprint leaves the measured numbers out, so that the
    same fault is the same alert tomorrow.
    """

    name = "sarif"
    profile = False
    follows = False

    def render(self, report: Report) -> str:
        """One run."""
        shown = report.findings[:MOST_RESULTS]
        found = sorted({finding.code for finding in shown})
        run = {
            "tool": {
                "driver": {
                    "name": "isomorph",
                    "version": report.version or "0",
                    "rules": [_rule(code) for code in found],
                }
            },
            "results": [_result(finding, report, found) for finding in shown],
            "properties": {
                "verdict": str(report.verdict),
                "reason": printable(report.reason),
                "headline": printable(report.headline),
                **_proof(report),
            },
            "columnKind": "unicodeCodePoints",
        }
        document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
        return json.dumps(document, indent=2, sort_keys=True, allow_nan=False)


def _proof(report: Report) -> dict[str, Any]:
    """What is proven: no alert, as what is open may well be equal."""
    proof = report.proof
    if proof is None:
        return {}
    outputs = {printable(one.reference): str(one.standing) for one in proof.outputs}
    return {"proof": {"outputs": outputs, "chance": proof.chance, "seed": proof.seed}}


def _rule(code: str) -> dict[str, Any]:
    known = codes().get(code, {})  # an extension of another package has codes of its own
    spelled = printable(code).replace("_", " ").capitalize()
    advice = f"{known['do']} " if known.get("do") else ""
    return {
        "id": printable(code),
        "name": "".join(word.capitalize() for word in printable(code).split("_")),
        "shortDescription": {"text": known.get("what") or spelled},
        "help": {"text": message("REPORT.explain", text=advice, code=printable(code))},
    }


def _result(finding: Finding, report: Report, found: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": printable(finding.code),
        "ruleIndex": found.index(finding.code),
        "level": level(finding, report),
        "message": {"text": sentence(finding)},
        "partialFingerprints": {"isomorphFinding/v1": identity(finding, report)},
        "properties": {
            "status": finding.status,
            "effect": finding.effect,
            "tags": [word for word in (finding.cause,) if word],
        },
    }
    if report.accepted and level(finding, report) != "note":
        reasons = "; ".join(dict.fromkeys(accepted(report).values()))
        result["suppressions"] = [{"kind": "external", "justification": printable(reasons)}]
    location = _location(finding, report)
    if location:
        result["locations"] = [location]
    return result


def _location(finding: Finding, report: Report) -> dict[str, Any]:
    location: dict[str, Any] = {}
    file, line = place(finding, report)
    if file is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
        # A scanner shows nothing without a line; a model file has only one.
        physical["region"] = {"startLine": max(1, line or 1)}
        if finding.source is not None and finding.source.text and line:
            physical["region"]["snippet"] = {"text": printable(finding.source.text)}
        location["physicalLocation"] = physical
    if finding.node:
        location["logicalLocations"] = [
            {"name": printable(finding.node), "fullyQualifiedName": printable(finding.node)}
        ]
    return location


def _uri(path: str) -> str:
    # A name that is no text at all has no address; what is left of it still names the file.
    spelled = quote(PurePath(path).as_posix(), safe="/", errors="replace")
    return f"file://{spelled}" if spelled.startswith("/") else spelled

"""The report as one page that opens by double-click, with the network off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from isomorph.core.divergence import Verdict
from isomorph.reporters._lead import difference
from isomorph.reporters._repair_command import repair_command, repairable
from isomorph.reporters.json import as_json
from isomorph.web import page

if TYPE_CHECKING:
    from isomorph.core.proof import Proof
    from isomorph.core.report import Report


class HtmlReporter:
    """One self-contained file: the bundle, and the report as data in it.

    The page runs no script but its own and asks the network for nothing; its content security
    policy enforces it in the browser. Names from models are text wherever they are shown.
    """

    name = "html"
    profile = True
    follows = False

    def render(self, report: Report) -> str:
        """The whole page."""
        return page(as_json(page_data(report), compact=True))

    def render_proof(self, proof: Proof) -> str:
        """The page of a proof alone, without anything measured."""
        return page(as_json(proof, compact=True))

    def render_repair(self, report: Report, repair: Mapping[str, Any]) -> str:
        """The page with the JSON of ``isomorph fix`` on the cards."""
        return page(as_json({**page_data(report), "repair": repair}, compact=True))


def page_data(report: Report) -> dict[str, Any]:
    """The report, by how much it differs in words, and the command that repairs each finding.

    There is no command where no patch may help.
    """
    data = {each.name: getattr(report, each.name) for each in fields(report)}
    command = repair_command(report)
    commands = [command if repairable(each, report) else None for each in report.findings]
    apart = difference(report) if report.verdict is Verdict.DIVERGENT else ""
    return {**data, "difference": apart, "repair_commands": commands}

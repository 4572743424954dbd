"""The report as JUnit XML: one test for the verdict, and one for each output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import BUG
from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.reporters._annotations import accepted, sentence, title
from isomorph.reporters._figures import NOT_MEASURED
from isomorph.reporters._proof import counts, error_probability, share

if TYPE_CHECKING:
    from isomorph.core.report import Report

# What XML 1.0 cannot hold at all, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitReporter:
    """For every dashboard that knows tests. Divergent is a failure, unknown an error."""

    name = "junit"
    profile = False
    follows = False

    def render(self, report: Report) -> str:
        """One suite; the whole time stands on the verdict."""
        cases = [_verdict(report), *(_output(one, report) for one in report.outputs)]
        counts = {
            "tests": str(len(cases)),
            "failures": str(sum(case.find("failure") is not None for case in cases)),
            "errors": str(sum(case.find("error") is not None for case in cases)),
            "time": f"{sum(report.elapsed.values()):.3f}",
        }
        suites = ET.Element("testsuites", {"name": "isomorph", **counts})
        # Only a suite may count what it skipped: Jenkins refuses the word around all suites.
        about = {"name": xml_text(title(report)), "skipped": "0"}
        suite = ET.SubElement(suites, "testsuite", {**counts, **about})
        properties = ET.SubElement(suite, "properties")
        for key, value in _properties(report):
            ET.SubElement(properties, "property", {"name": key, "value": xml_text(value)})
        suite.extend(cases)
        ET.indent(suites)
        return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _properties(report: Report) -> list[tuple[str, str]]:
    properties = [("verdict", str(report.verdict)), ("seed", str(report.seed))]
    properties += [(model.role, printable(model.location)) for model in report.models]
    if report.proof is not None:
        proof = f"{counts(report.proof)}; {share(report.proof)}"
        properties.append(("proof", f"{proof}; error: {error_probability(report.proof)}"))
    return [*properties, ("isomorph", report.version)]


def _verdict(report: Report) -> ET.Element:
    time = f"{sum(report.elapsed.values()):.3f}"
    case = ET.Element("testcase", {"name": "verdict", "classname": _class(report), "time": time})
    text = "\n".join(f"{one.rank}. {one.code}: {sentence(one)}" for one in report.findings)
    if report.exit_code == 0:
        ET.SubElement(case, "system-out").text = xml_text(
            "\n".join(filter(None, (printable(report.headline), text)))
        )
        return case
    # In strict mode an equivalent model may fail for a fault that rounding hides.
    # A proof that contradicts what was measured leaves nothing known.
    unknown = report.verdict is Verdict.UNKNOWN or report.exit_code == BUG
    reason = {"message": xml_text(printable(report.reason)), "type": str(report.verdict)}
    ET.SubElement(case, "error" if unknown else "failure", reason).text = xml_text(text)
    return case


def _output(one: Divergence, report: Report) -> ET.Element:
    name = one.candidate_output or one.reference_output or "?"
    case = ET.Element(
        "testcase",
        {"name": f"output {xml_text(printable(name))}", "classname": _class(report), "time": "0"},
    )
    excuse = accepted(report).get(one.candidate_output or one.reference_output or "")
    if one.verdict.exit_code and excuse is not None:
        text = message("REPORT.accepted", verdict=one.verdict, why=printable(excuse))
        ET.SubElement(case, "system-out").text = xml_text(text)
    elif one.verdict.exit_code:
        kind = "error" if one.verdict is Verdict.UNKNOWN else "failure"
        reason = {"message": xml_text(printable(one.reason)), "type": str(one.verdict)}
        ET.SubElement(case, kind, reason).text = xml_text(_figures(one))
    return case


def _figures(one: Divergence) -> str:
    words = ("translation", "rounding", "intended_loss", "execution_reference",
             "execution_candidate", "observed")  # fmt: skip
    lines = []
    for word in words:
        part = getattr(one, word)
        if part is not None:
            lines.append(
                message(
                    "REPORT.term",
                    term=word.replace("_", " "),
                    size=_short(part.distance.max_abs),
                    ratio=_short(part.budget.ratio),
                    derivation=part.budget.derivation,
                )
            )
    return "\n".join(lines)


def _short(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.3g}"


def _class(report: Report) -> str:
    return f"isomorph.{xml_text(title(report))}"


def xml_text(text: str) -> str:
    """The text without what XML cannot hold."""
    return _FORBIDDEN.sub("\ufffd", text)

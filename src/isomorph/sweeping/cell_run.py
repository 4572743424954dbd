"""One cell from its words to its result, wherever it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from isomorph.core.divergence import Verdict
from isomorph.core.sweep import CellResult, CellStatus, Verb
from isomorph.core.untrusted_json import read_json
from isomorph.store.reports import read_report

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.divergence import Divergence
    from isomorph.core.report import Report
    from isomorph.core.sweep import Cell
    from isomorph.sweeping.cell_process import Ended

UNKNOWN_EXIT = Verdict.UNKNOWN.exit_code


def blank(cell: Cell, key: str) -> CellResult:
    """A cell that has no answer yet."""
    return CellResult(
        name=cell.name, model=cell.model, environment=cell.environment, shard=cell.shard,
        seed=cell.seed, key=key, status=CellStatus.LEFT,
    )  # fmt: skip


def report_words(path: Path, verb: Verb) -> list[str]:
    """The words that make a command write its report as JSON."""
    # The output of these two is a model.
    option = "--report" if verb in (Verb.FIX, Verb.CONVERT) else "--output"
    return ["--format=json", f"{option}={path}"]


def answer(cell_verb: Verb, ended: Ended, path: Path) -> dict[str, Any]:
    """The fields of a result that follow from how its process ended and what it wrote."""
    found: dict[str, Any] = {
        "exit_code": ended.exit_code, "seconds": ended.seconds,
        "cpu_seconds": ended.cpu_seconds, "peak_bytes": ended.peak_bytes, "fresh": True,
        "status": CellStatus.LOST if ended.exit_code is None else CellStatus.DONE,
    }  # fmt: skip
    if not path.is_file():
        lines = [line for line in ended.stderr.splitlines() if line.strip()]
        first = next((line for line in lines if line.startswith("error[")), "")
        return {**found, "reason": first or (lines[-1] if lines else "")}
    if cell_verb is Verb.PROVE:
        word = "proven" if ended.exit_code == 0 else "open"
        return {**found, "verdict": word, "headline": word.upper()}
    if cell_verb is Verb.FIX:
        return {**found, **_repair(path)}
    if cell_verb is Verb.CONVERT:
        return {**found, **_conversion(path)}
    return {**found, **_facts(read_report(path))}


def _repair(path: Path) -> dict[str, Any]:
    """Whether a pair was repaired; the verdict where there was nothing to repair, or none."""
    document = read_json(path.read_text(encoding="utf-8"))
    verdict, reason = str(document["verdict"]), str(document["reason"])
    changed = bool(document["patches"] or document["session"])
    if document["repaired"]:
        word = "repaired" if changed else verdict
    else:
        word = verdict if document["exit_code"] == UNKNOWN_EXIT else "unrepaired"
    summaries = [str(each["summary"]) for each in document["patches"]]
    return {"verdict": word, "headline": word.upper(), "reason": "; ".join(summaries) or reason}


def _conversion(path: Path) -> dict[str, Any]:
    """The verdict of what a conversion made."""
    document = read_json(path.read_text(encoding="utf-8"))
    verdict, reason = str(document["verdict"]), str(document["reason"])
    return {"verdict": verdict, "headline": verdict.upper(), "reason": reason}


def _facts(report: Report) -> dict[str, Any]:
    """The verdict, the first finding, and the largest error as a share of its budget."""
    finding = report.findings[0] if report.findings else None
    ratio = max((each for output in report.outputs for each in _ratios(output)), default=None)
    if report.verdict is Verdict.UNKNOWN and not ratio:
        ratio = None  # where something was not compared, no difference seen is none measured
    return {
        "verdict": str(report.verdict),
        "headline": report.headline,
        "reason": report.reason,
        "node": (finding.node or "") if finding is not None else "",
        "cause": str(finding.cause or "") if finding is not None else "",
        "ratio": ratio,
    }


def _ratios(output: Divergence) -> Iterator[float]:
    """What the verdict of an output compares with one: the loss where one is intended."""
    judged = (output.intended_loss,) if output.intended_loss is not None else (
        output.rounding, output.execution_candidate
    )  # fmt: skip
    for term in judged:
        if term is not None and term.budget.ratio is not None:
            yield term.budget.ratio

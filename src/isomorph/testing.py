"""For tests: an assertion that two models are the same function, with the reason if not."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.api.options import CheckOptions
    from isomorph.core.report import Finding, Report

REPORTS = "ISOMORPH_REPORTS"
"""The folder for reports of failed assertions; the pytest plugin sets it."""

_ROLES = ("reference", "candidate")

BASELINE = "ISOMORPH_BASELINE"
"""The baseline that applies where none is named; the pytest plugin sets it."""


def assert_equivalent(
    reference: Any,  # noqa: ANN401
    candidate: Any = None,  # noqa: ANN401
    *,
    allow_degraded: bool = True,
    baseline: str | Path | None = None,
    pair: str | None = None,
    options: CheckOptions | None = None,
    **arguments: Any,  # noqa: ANN401
) -> Report:
    """Fail unless the candidate is the same function, or differs as a baseline accepts.

    ``options`` and ``arguments`` are those of ``isomorph.check``. A candidate
    within the expected loss of its lower precision passes, unless ``allow_degraded`` is False.
    """
    __tracebackhide__ = True
    from isomorph.api import check
    from isomorph.api.options import CheckOptions

    options = options or CheckOptions()
    where = baseline or options.baseline or os.environ.get(BASELINE)
    pair = pair or options.pair
    if pair is None and "PYTEST_CURRENT_TEST" in os.environ:
        pair = _test_name()
    options = replace(options, baseline=where, pair=pair)
    report = check(reference, candidate, options=options, **arguments)
    passes = report.exit_code == 0 and (allow_degraded or report.verdict.value != "degraded")
    if not passes:
        raise AssertionError(_failure_message(report, _written(report)))
    return report


def _failure_message(report: Report, path: Path) -> str:
    from isomorph.reporters._repair_command import repair_command, repairable

    lines = [f"{report.verdict.value}: {report.reason}"]
    located = [finding for finding in report.findings if finding.node]
    for finding in located[:3] or list(report.findings[:1]):
        lines += _lines(finding)
    if report.baseline is not None:
        lines += [
            message("REPORT.test_baseline", what=each.what, state=each.state, message=each.message)
            for each in report.baseline.statuses
        ]
    repair = repair_command(report) or _python_call(report)
    if repair is not None and any(repairable(each, report) for each in report.findings):
        lines.append(f"  repair: {repair}")
    return "\n".join([*lines, f"  report: {path}"])


def _python_call(report: Report) -> str | None:
    """The call that repairs a file made from a live model, which no command line can name."""
    from isomorph.core.report import ModelForm

    reference, candidate = ([m for m in report.models if m.role == role] for role in _ROLES)
    if not reference or not candidate or candidate[0].form == ModelForm.LIVE:
        return None
    target = f"repaired{Path(candidate[0].location).suffix}"
    return f"isomorph.fix(reference, candidate, output={target!r})"


def _lines(finding: Finding) -> list[str]:
    lines = [f"  {finding.code}: {finding.summary}"]
    if finding.node:
        lines.append(f"    node: {finding.node}")
    if finding.source is not None and finding.source.file:
        lines.append(f"    source: {finding.source.file}:{finding.source.line}")
    if finding.cause:
        lines.append(f"    cause: {finding.cause} ({finding.status})")
    if finding.fix:
        lines.append(f"    fix: {finding.fix}")
    return lines


def _written(report: Report) -> Path:
    from isomorph import registry
    from isomorph.store.atomic import new_file

    named = os.environ.get(REPORTS)
    folder = Path(named) if named else Path(tempfile.mkdtemp(prefix="isomorph-"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub(r'[^A-Za-z0-9.=-]+', '_', _test_name())[-120:]}.json"
    with new_file(path) as file:
        file.write(registry.reporter("json").render(report).encode())
    return path


def _test_name() -> str:
    """The running test, as pytest names it: parameters included, the phase left out."""
    return os.environ.get("PYTEST_CURRENT_TEST", "report").rpartition(" (")[0] or "report"

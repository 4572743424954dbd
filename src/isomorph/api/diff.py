"""``isomorph.diff``: what differs between two models by their structure, or between two reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import open_loader
from isomorph.api.options import RuntimeOptions
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError

if TYPE_CHECKING:
    from isomorph.core.model_diff import ModelDiff
    from isomorph.core.report_diff import ReportDiff
    from isomorph.sessions.model_handle import ModelHandle


def diff(
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    trust: bool = False,
    in_process: bool = False,
    state: str | Path | None = None,
) -> ModelDiff | ReportDiff:
    """What differs between two models by their structure, or between two JSON reports.

    Of two models of any formats, which nodes correspond, and which were changed, added, removed,
    moved or computed by others; neither is run. Of two reports, what changed between the checks.
    """
    from isomorph.store.reports import may_be_report

    reports = [_is_report(each) for each in (reference, candidate)]
    if any(reports) and may_be_report(reference) and may_be_report(candidate):
        return _diff_reports(Path(reference), Path(candidate))
    if any(reports):
        raise error_of(
            UsageError, "BAD_OPTION.diff_mixed", report=reference if reports[0] else candidate
        )
    from isomorph.diffing.model_diff import diff_models
    from isomorph.measure.parallel import run_parallel

    runtime, both = RuntimeOptions(state=state), (reference, candidate)
    with open_loader(*both, trust=trust, in_process=in_process, runtime=runtime) as loader:
        found: dict[str, ModelHandle] = {}
        apart = loader.host.isolation == "process"
        run_parallel(
            lambda: found.update(candidate=loader.open("candidate", candidate)),
            lambda: found.update(reference=loader.open("reference", reference)),
            apart=apart,
        )
        return diff_models(found["reference"], found["candidate"])


def _is_report(source: object) -> bool:
    """Whether a file that exists is a JSON document."""
    from isomorph.store.reports import may_be_report

    return may_be_report(source) and Path(str(source)).exists()


def _diff_reports(before: Path, after: Path) -> ReportDiff:
    from isomorph.diffing.report_diff import diff_reports
    from isomorph.store.reports import read_report

    found = read_report(before), read_report(after)
    return diff_reports(*found, locations=(str(before), str(after)))

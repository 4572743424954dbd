"""A fault of the run and not of the file: the settings under which the same file is right.

What an experiment has already found is tried first, then whatever the runtime does of its own
accord, from the outermost to the innermost. Only measured settings are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.core.messages import message
from isomorph.core.protocols import HasSwitches, WritesSettingsCode
from isomorph.core.repair import SessionOption
from isomorph.core.report import Fact
from isomorph.repair.proof import GOOD, trusted
from isomorph.sessions.model_handle import ModelHandle, completed

if TYPE_CHECKING:
    from isomorph.core.protocols import Runtime
    from isomorph.core.report import Finding, Report


def only_runtime_wrong(reports: Sequence[Report]) -> bool:
    """Whether every output that is off is off in the run alone, and right in float64."""
    bad = [d for report in reports for d in report.outputs if d.verdict not in GOOD]
    return bool(bad) and all(
        run is not None and run.beyond and graph is not None and graph.within
        for run, graph in ((d.execution_candidate, d.intended_loss or d.rounding) for d in bad)
    )


def restoring_settings(
    candidate: ModelHandle,
    findings: Sequence[Finding],
    measured: Callable[[ModelHandle], tuple[Report, ...]],
) -> tuple[SessionOption, tuple[Report, ...]] | None:
    """The first settings under which every sample is good, with what was measured."""
    runtime = registry.runtime(candidate.runtime)
    seen: list[Mapping[str, str]] = [dict(candidate.settings)]
    for name, settings in _choices(runtime, completed(runtime.name, candidate.settings), findings):
        whole = {**candidate.settings, **settings}
        if whole in seen:
            continue
        seen.append(whole)
        reports = measured(_under(candidate, whole))
        if reports and trusted(reports):
            return _option(runtime, name, settings), reports
    return None


def _choices(
    runtime: Runtime, now: Mapping[str, str], findings: Sequence[Finding]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    for finding in findings:
        settings = finding.fact(Fact.SETTINGS)
        if isinstance(settings, Mapping):
            named = str(finding.fact(Fact.OPTIMIZER) or finding.summary)
            yield named, {str(key): str(value) for key, value in settings.items()}
    if isinstance(runtime, HasSwitches):
        yield from (
            (switch.name, switch.settings)
            for switch in runtime.switches
            # What is off as a whole has no parts to be switched off.
            if switch.has_effect(now)
            and any(now.get(key) != runtime.plain.get(key) for key in switch.settings)
        )
    yield message("REPAIR.every_optimizer"), runtime.plain


def _under(candidate: ModelHandle, settings: Mapping[str, str]) -> ModelHandle:
    return replace(candidate, settings=settings, _sessions={})


def _option(runtime: Runtime, name: str, settings: Mapping[str, str]) -> SessionOption:
    return SessionOption(
        runtime=runtime.name,
        name=name,
        settings=settings,
        flags=" ".join(f"--set {quote(f'{key}={value}')}" for key, value in settings.items()),
        code=runtime.settings_code(settings) if isinstance(runtime, WritesSettingsCode) else (),
    )

"""The command that repairs the candidate, with every option of the check that it repeats."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.core.divergence import Verdict
from isomorph.core.editing import ChangesNodes, EditsValues
from isomorph.core.errors import IsomorphError
from isomorph.core.escaping import printable
from isomorph.core.protocols import SupportsPatch
from isomorph.core.report import Fact, ModelForm
from isomorph.core.request import FileRole
from isomorph.localize import other_checkpoint
from isomorph.measure import run_time_quantizers, underflow

if TYPE_CHECKING:
    from isomorph.core.report import Finding, Report
    from isomorph.core.request import CheckRequest

_UNREPAIRED = frozenset({underflow.CODE, run_time_quantizers.CODE, other_checkpoint.CODE})
"""A constant that its type cannot hold needs another type, which no patch gives it; a declared loss
is no fault; and another checkpoint is to be exported again."""


def repairable(finding: Finding, report: Report | None = None) -> bool:
    """Whether a patch may help; advice about a runtime that crashed is not a patch.

    Some formats cannot be patched in every respect: ``report`` states the candidate's.
    """
    if finding.fact(Fact.PATCHABLE) is False or finding.code in _UNREPAIRED:
        return False
    cause = finding.cause
    if finding.fix is None or cause is None or cause not in registry.names("fixes"):
        return False
    models = report.models if report is not None else ()
    candidate = next((each for each in models if each.role == "candidate"), None)
    return candidate is None or not _beyond(cause, candidate.framework)


def _beyond(cause: str, framework: str) -> bool:
    """Whether every patch for a cause changes nodes, in a format of which values are patched."""
    try:
        found = registry.framework(framework)
    except IsomorphError:
        return False
    return isinstance(registry.fix(cause), ChangesNodes) and isinstance(found, EditsValues)


def repair_command(report: Report) -> str | None:
    """The command that repairs the candidate.

    None where nothing was found out, where there is no pair, where files of the candidate's
    framework cannot be patched, or no way to type the command.
    """
    if report.verdict is Verdict.UNKNOWN:
        return None
    models = {m.role: m for m in report.models if m.form == ModelForm.FILE}
    if not {"reference", "candidate"} <= models.keys():
        return None
    if not _supports_patches(models["candidate"].framework):
        return None
    target = f"repaired{PurePath(models['candidate'].location).suffix}"
    asked = report.request
    if asked is not None and needs_report(report):
        return f"isomorph fix REPORT.json -o {shlex.quote(target)}"
    places = [models[role].location for role in ("reference", "candidate")]
    words = [*places, *(_options(asked) if asked is not None else ())]
    words += ["--seed", str(report.seed)] if report.seed else []
    words += ["--trust"] if report.trusted else []
    words += ["--translation-only"] if report.translation_only else []
    command = f"isomorph fix {shlex.join([*words, '-o', target])}"
    return command if printable(command, limit=2000) == command else None


def needs_report(report: Report) -> bool:
    """Whether the check had options that ``isomorph fix`` takes from a JSON report alone."""
    asked = report.request
    return asked is not None and (asked.decode is not None or asked.file(FileRole.DATA) is not None)


def _supports_patches(framework: str) -> bool:
    try:
        return isinstance(registry.framework(framework), SupportsPatch)
    except IsomorphError:
        return False


def _options(asked: CheckRequest) -> Iterator[str]:
    """The options of a check that ``isomorph fix`` takes as well."""
    for role in (FileRole.INPUTS, FileRole.STATE):
        file = asked.file(role)
        if file is not None:
            yield from (f"--{role.value}", file.location)
    for side, name in asked.runtime.items():
        yield from ("--runtime", f"{side}={name}" if side else name)
    yield from _assigned("--set", asked.settings)
    for module in asked.ops:
        yield from ("--ops", module)
    yield from _assigned("--dim", asked.dims)
    for output, budget in asked.budgets.items():
        yield from ("--budget", f"{output}={budget:g}" if output else f"{budget:g}")
    yield from _assigned("--bind-input", asked.bind_inputs)
    yield from _assigned("--bind-output", asked.bind_outputs)
    for name, order in asked.layouts.items():
        yield from ("--layout", f"{name}={','.join(map(str, order))}")
    if asked.memory is not None:
        yield from ("--memory", str(asked.memory))
    if asked.timeout is not None:
        yield from ("--timeout", f"{asked.timeout:g}")


def _assigned(flag: str, pairs: Mapping[str, object]) -> Iterator[str]:
    for key, value in pairs.items():
        yield from (flag, f"{key}={value}")

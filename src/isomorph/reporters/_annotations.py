"""What continuous integration needs of a finding: severity, place, and one sentence."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.report import FindingEffect, ModelForm

if TYPE_CHECKING:
    from isomorph.core.report import Finding, Report

_LEVELS = {
    FindingEffect.REACHES_OUTPUT: "error",
    FindingEffect.BELOW_ROUNDING: "warning",
    FindingEffect.LATENT: "warning",
}


def level(finding: Finding, report: Report) -> str:
    """``error``, ``warning`` or ``note``: what reaches an output of a model that passed warns."""
    usual = _LEVELS.get(finding.effect, "note")
    return "warning" if usual == "error" and report.exit_code == 0 else usual


def accepted(report: Report) -> dict[str, str]:
    """What a baseline accepts (outputs, constants, nodes), each with the reason written there."""
    statuses = report.baseline.statuses if report.baseline is not None else ()
    return {
        one.output or one.what: one.accepted.why if one.accepted is not None else one.message
        for one in statuses
        if one.accepts
    }


def sentence(finding: Finding, *, limit: int = 2000) -> str:
    """The summary, the cause and the fix on one line."""
    parts = [finding.summary.rstrip(".")]
    if finding.cause:
        parts.append(f"cause {finding.cause} ({finding.status})")
    if finding.fix:
        parts.append(f"fix: {finding.fix}")
    return printable("; ".join(parts), limit=limit)


def place(finding: Finding, report: Report) -> tuple[str | None, int | None]:
    """The line of the user's program, where the exporter left it; else the candidate's file."""
    source = finding.source
    if source is not None and source.file:
        return relative(source.file), source.line
    for model in reversed(report.models):
        if model.location and model.form != ModelForm.LIVE:
            return relative(model.location), None
    return None, None


def relative(path: str) -> str:
    """As seen from the working folder, which is the repository in continuous integration."""
    pure = PurePath(path)
    if pure.is_absolute() and pure.is_relative_to(Path.cwd()):
        return pure.relative_to(Path.cwd()).as_posix()
    return pure.as_posix()


def identity(finding: Finding, report: Report) -> str:
    """A fingerprint of a finding that does not depend on its measured numbers."""
    candidate = next((m.location for m in report.models if m.role == "candidate"), "")
    parts = (finding.code, finding.cause or "", finding.node or "", PurePath(candidate).name)
    tensors = () if finding.node else finding.tensors
    return hashlib.sha256("\0".join((*parts, *tensors)).encode("utf-8", "replace")).hexdigest()


def title(report: Report) -> str:
    """Both models by the names of their files."""
    names = [PurePath(model.location).name or model.location for model in report.models]
    return printable(" → ".join(names) or "check", limit=200)


def command_text(text: str) -> str:
    """The message of a workflow command of GitHub, escaped as the runner reads it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str) -> str:
    """The value of a property of a workflow command, escaped as the runner reads it."""
    return command_text(text).replace(":", "%3A").replace(",", "%2C")

"""Put a verified repair where the user wants it; whatever is not verified is not written."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.limits import noted_limits
from isomorph.core.patch import Patch
from isomorph.core.protocols import HasSidecarFiles, SupportsPatch
from isomorph.core.repair import Applied, Repair
from isomorph.repair.keep_float import keep_float
from isomorph.repair.proof import with_limits
from isomorph.repair.repair import repair
from isomorph.sessions.in_process import can_patch
from isomorph.store.atomic import new_file
from isomorph.store.targets import check_target

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.report import Report
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle


def write_repair(
    reference: ModelHandle,
    candidate: ModelHandle,
    given: Sample | None,
    options: CheckConfig,
    output: Path | None,
    *,
    report: Report | None = None,
) -> Repair:
    """Repair in a folder of our own, then write the patched model in one piece."""
    if output is not None:
        check_target(output, candidate.model.location, reference.model.location)
    with TemporaryDirectory(prefix="isomorph-fix-") as folder:
        with noted_limits() as hit:
            done = repair(reference, candidate, given, options, Path(folder), report=report)
        done = with_limits(done, hit)
        nothing = done.session is not None or not can_patch(candidate.model)
        if output is None or not done.repaired or nothing:
            return done
        if done.applied or not _copied(candidate, output):
            # Applied once more to the candidate itself, so that what is written is exactly
            # the candidate and the patches that are shown.
            _applied(candidate, rounds(done.applied), output, Path(folder))
    return replace(done, output=str(output))


def _copied(candidate: ModelHandle, output: Path) -> bool:
    """Copy a model that needs no patch byte for byte; not where it is more than one file."""
    file, framework = Path(candidate.model.location), registry.framework(candidate.model.framework)
    more = framework.sidecar_files(file) if isinstance(framework, HasSidecarFiles) else ()
    if not file.is_file() or more:
        return False
    with file.open("rb") as source, new_file(output) as target:
        shutil.copyfileobj(source, target)
    return True


def rounds(applied: Sequence[Applied]) -> list[Patch]:
    """The patches of each round as one: the names in a later one are those the earlier left."""
    found: list[Patch] = []
    for number in sorted({each.round for each in applied}):
        own = [each.patch for each in applied if each.round == number]
        edits = tuple(edit for patch in own for edit in patch.edits)
        found.append(Patch(summary="; ".join(patch.summary for patch in own), edits=edits))
    return found or [Patch(summary="", edits=())]


def _applied(candidate: ModelHandle, patches: Sequence[Patch], output: Path, folder: Path) -> None:
    model, host = candidate.model, candidate.host
    for number, patch in enumerate(patches[:-1]):
        path = folder / f"round-{number}{Path(model.location).suffix}"
        host.apply(model, patch, path)
        model = host.load(str(path), model.framework, {})
    host.apply(model, patches[-1], output)


def write_float_repair(
    reference: ModelHandle,
    candidate: ModelHandle,
    given: Sample | None,
    options: CheckConfig,
    *,
    output: Path | None,
    count: int | None,
) -> Repair:
    """Keep nodes in float, and write the last step of the trade if it is verified."""
    framework = registry.framework(candidate.model.framework)
    if not (isinstance(framework, SupportsPatch) and framework.keeps_float):
        raise UsageError(
            "FIX_UNSUPPORTED",
            f"nodes of a {candidate.model.framework} model cannot be kept in float",
            file=candidate.model.location,
            fix="keep them in float where the model is quantized, and convert again",
        )
    if output is not None:
        check_target(output, candidate.model.location, reference.model.location)
    with TemporaryDirectory(prefix="isomorph-fix-") as folder:
        with noted_limits() as hit:
            done, last = keep_float(
                reference, candidate, given, options, folder=Path(folder), count=count
            )
        done = with_limits(done, hit)
        if output is None or not done.repaired:
            return done
        candidate.host.apply(last.model, Patch(summary="", edits=()), output)
    return replace(done, output=str(output))

"""The text of ``isomorph doctor``: what is installed, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from isomorph.core.installation import InstallationItem, InstallationStatus
from isomorph.core.messages import message
from isomorph.reporters.table import columns
from isomorph.reporters.textwrap import wrapped

_SHOWN = ("machine", "framework")
"""Kinds whose items are shown without being asked for; of others only those that need a hand."""
_WRONG = frozenset({InstallationStatus.OLD, InstallationStatus.BROKEN})


def as_text(
    found: Sequence[InstallationItem], *, imported: bool = False, verbose: bool = False
) -> str:
    """What can be checked here first, then what is missing and the command that installs it.

    ``verbose`` lists every package, extension and command.
    """
    lines = [*wrapped([_headline(found)]), ""]
    lines += _everything(found) if verbose else _summary(found)
    if not verbose:
        lines += wrapped([message("DOCTOR.all_listed")])
    elif not imported:
        lines.append(message("DOCTOR.versions"))
    return "\n".join(lines)


def _headline(found: Sequence[InstallationItem]) -> str:
    wrong = [each.name for each in found if each.status is InstallationStatus.BROKEN]
    if wrong:
        return message("DOCTOR.broken", names=", ".join(wrong))
    whole = [each.name for each in found if each.kind == "framework" and _plain(each)]
    if not whole:
        return message("DOCTOR.nothing")
    return message("DOCTOR.ready", frameworks=", ".join(whole))


def _summary(found: Sequence[InstallationItem]) -> Iterator[str]:
    """The machine and the frameworks, and of everything else what does not work."""
    for kind, group in groupby(found, key=lambda each: each.kind):
        members = [each for each in group if kind in _SHOWN or each.status in _WRONG]
        if members:
            yield kind
            rows = [(each.status, each.name, each.version or "", _next(each)) for each in members]
            yield from wrapped(columns(rows).splitlines())
    converters = [each for each in found if each.kind == "converter"]
    if converters:
        working = sum(each.status is InstallationStatus.OK for each in converters)
        yield from wrapped([message("DOCTOR.converters", working=working, count=len(converters))])


def _next(each: InstallationItem) -> str:
    """The command that helps, and what is wrong unless the item is just missing."""
    if each.advice is None:
        return each.detail
    if each.status is not InstallationStatus.MISSING:
        return message("DOCTOR.wrong", detail=each.detail, advice=each.advice)
    return each.advice


def _everything(found: Sequence[InstallationItem]) -> Iterator[str]:
    """A table for each kind of item, then each command with what it brings."""
    for kind, group in groupby(found, key=lambda each: each.kind):
        members = list(group)
        # Items without a version or a detail share one line.
        plain = [each.name for each in members if _plain(each)]
        rows = [
            (each.status, each.name, each.version or "", each.detail)
            for each in members
            if not _plain(each)
        ]
        yield kind
        if rows:
            yield columns(rows)
        if plain:
            yield from wrapped([f"  {InstallationStatus.OK}  {', '.join(plain)}"])
    # One extra brings several packages; its line is shown once.
    advice: dict[str, list[str]] = {}
    for each in found:
        if each.advice:
            advice.setdefault(each.advice, []).append(each.name)
    if advice:
        yield message("DOCTOR.to_do")
    for command, names in advice.items():
        yield f"  {command}"
        brought = message("DOCTOR.for", names=", ".join(dict.fromkeys(names)))
        yield from wrapped([f"      {brought}"])


def _plain(each: InstallationItem) -> bool:
    return each.status is InstallationStatus.OK and not (each.version or each.detail)

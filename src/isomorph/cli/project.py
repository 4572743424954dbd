"""``isomorph check`` by names: the pairs that the project file holds, one or all of them."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.cli.contradiction import save_contradiction
from isomorph.cli.error_text import error_lines
from isomorph.cli.output import show_report, show_report_on_interrupt, write
from isomorph.cli.output_format import BY_SUFFIX
from isomorph.core.error_of import error_of
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.store.option_trust import require_trust
from isomorph.store.projects import NAMES, find_project
from isomorph.store.targets import check_target

if TYPE_CHECKING:
    from isomorph.core.project import NamedPair, Project
    from isomorph.core.protocols import Reporter
    from isomorph.core.report import Report

# The exit code of several pairs: the first of these that occurred.
_BY_SEVERITY = (70, 2, 4, 1, 3, 0)


def names_pair(word: str) -> bool:
    """Whether the word is the name of a pair, and no file of that name exists."""
    if Path(word).exists() or not word or "/" in word:
        return False
    project = find_project(Path.cwd())
    if project is None or ":" in word or Path(word).suffix:
        return project is not None and bool(_selected(project, word))
    if project.pairs and not _selected(project, word):
        names = [pair.name for pair in project.pairs]
        near = difflib.get_close_matches(word, names, n=1)
        raise error_of(
            UsageError,
            "UNKNOWN_NAME.pair_near" if near else "UNKNOWN_NAME.pair",
            word=word,
            pairs=", ".join(names),
            near=near[0] if near else "",
        )
    return bool(project.pairs)


def run(
    word: str | None,
    reporter: Reporter,
    output: Path | None,
    *,
    usual: Mapping[str, Any],
    stated: Mapping[str, Any],
    quiet: bool = False,
) -> int:
    """Check the named pair, or every pair; ``output`` is a folder for several reports.

    ``quiet``: the line of each pair says all, and no report is shown on the terminal.
    ``stated`` are the options of ``isomorph.check`` from the command line. They take precedence
    over those of the project file, and these over ``usual``, the defaults of the report format.
    """
    project = find_project(Path.cwd())
    pairs = _selected(project, word) if project is not None else ()
    if project is None or not pairs:
        key = "NOTHING_TO_CHECK.no_pairs" if project else "NOTHING_TO_CHECK.no_project"
        raise error_of(UsageError, key, project=NAMES[0])
    if output is None and len(pairs) > 1 and not reporter.follows:
        raise error_of(UsageError, "BAD_OPTION.one_document", count=len(pairs), name=reporter.name)
    if "pair" in stated:
        raise error_of(UsageError, "BAD_OPTION.pair_name")
    targets = _targets(output, pairs, reporter)
    codes, lines = [], []
    for pair, target in zip(pairs, targets, strict=True):
        with show_report_on_interrupt(reporter, target):
            code, line, report = _checked(pair, project, usual, stated)
        codes.append(code)
        lines.append(line)
        if report is None:
            continue
        shown = (code != 0 or len(pairs) == 1) and not quiet
        if target is not None or shown or reporter.name != "terminal":
            show_report(report, reporter, target)
        save_contradiction(report)
    if output is not None:
        lines.append(message("REPORT.written", file=printable(str(output))))
    if output is not None or reporter.name == "terminal":
        write("\n".join(lines if quiet else ["", *lines]), None)
    return next(code for code in _BY_SEVERITY if code in codes)


def _targets(
    output: Path | None, pairs: tuple[NamedPair, ...], reporter: Reporter
) -> list[Path | None]:
    """Where each report goes: one alone into the file that is named, others into a folder."""
    if output is None:
        return [None] * len(pairs)
    if len(pairs) > 1 and output.suffix.lower() in BY_SUFFIX and not output.is_dir():
        raise error_of(
            UsageError,
            "BAD_OPTION.one_file",
            count=len(pairs),
            file_name=output.name,
            stem=output.stem,
            name=reporter.name,
        )
    if len(pairs) == 1 and output.suffix and not output.is_dir():
        check_target(output, pairs[0].reference, pairs[0].candidate)
        return [output]
    output.mkdir(parents=True, exist_ok=True)
    return [output / f"{_slug(pair.name)}.{_ending(reporter)}" for pair in pairs]


def _selected(project: Project, word: str | None) -> tuple[NamedPair, ...]:
    """All pairs, the one of this name, or the same pair in each of its environments."""
    return tuple(
        pair
        for pair in project.pairs
        if word is None or word in (pair.name, pair.name.partition("@")[0])
    )


def _checked(
    pair: NamedPair, project: Project, usual: Mapping[str, Any], stated: Mapping[str, Any]
) -> tuple[int, str, Report | None]:
    from isomorph import api
    from isomorph.cli.progress import Progress

    name = printable(pair.name, limit=60)
    options = _joined({**usual, **pair.options}, stated)
    # What the command line states is the user's own; the file's options may be somebody else's.
    from_file = {key: value for key, value in pair.options.items() if key != "runtime"}
    if "runtime" not in stated:
        from_file["runtime"] = pair.options.get("runtime")
    from_file["trust"] = options.get("trust")
    require_trust(from_file, file=project.file, where=f"pairs.{pair.name}")
    if Path(project.baseline).is_file():  # until something is accepted, there is no such file
        options.setdefault("baseline", project.baseline)
    try:
        with Progress() as progress:
            report = api.check(
                pair.reference,
                pair.candidate,
                progress=progress,
                **{**options, "pair": pair.name},
            )
    except IsomorphError as error:
        # Printed immediately: most report formats have no field for it.
        first, *more = error_lines(error)
        sys.stderr.write("\n".join([f"{name}: {first}", *more]) + "\n")
        return error.exit_code, f"{name}: error[{error.code}] {printable(error.sentence)}", None
    line = f"{name}: {printable(report.headline)}  {printable(report.reason, limit=200)}"
    if report.accepted and report.exit_code == 0:
        line += message("REPORT.by_baseline")
    return report.exit_code, line, report


def _joined(written: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """The project's options under those of the command line; tables are joined key by key."""
    joined = dict(written)
    for name, value in stated.items():
        match joined.get(name), value:
            case Mapping() as before, Mapping():
                joined[name] = {**before, **value}
            case _:
                joined[name] = value
    return joined


def _slug(name: str) -> str:
    return "".join(each if each.isalnum() or each in "-_.@" else "_" for each in name)


def _ending(reporter: Reporter) -> str:
    return {"terminal": "txt", "junit": "xml", "sarif": "sarif", "markdown": "md"}.get(
        reporter.name, reporter.name
    )

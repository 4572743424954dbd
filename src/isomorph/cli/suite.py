"""``isomorph check`` by names: the pairs that the project file holds, one or all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.cli.output import kept_when_interrupted, show_report, write
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.text import printable
from isomorph.store.projects import NAMES, find_project

if TYPE_CHECKING:
    from isomorph.core.project import NamedPair, Project
    from isomorph.core.protocols import Reporter
    from isomorph.core.report import Report

# Wrong use outranks a divergence, which outranks not knowing: the gravest decides.
_GRAVEST = (70, 2, 4, 1, 3, 0)


def names_pair(word: str) -> bool:
    """Whether the word is the name of a pair, and no file of that name exists."""
    if Path(word).exists() or not word or "/" in word:
        return False
    project = find_project(Path.cwd())
    return project is not None and bool(_wanted(project, word))


def run(word: str | None, reporter: Reporter, output: Path | None) -> int:
    """Check the named pair, or every pair; ``output`` is a folder for their reports."""
    project = find_project(Path.cwd())
    pairs = _wanted(project, word) if project is not None else ()
    if project is None or not pairs:
        raise UsageError(
            "NOTHING_TO_CHECK",
            "no model is named",
            why="no project file holds a pair to check" if project else "there is no project file",
            fix=f"isomorph check REFERENCE CANDIDATE, or name pairs in {NAMES[0]}",
        )
    if output is None and len(pairs) > 1 and not getattr(reporter, "follows", False):
        raise UsageError(
            "BAD_OPTION",
            f"{len(pairs)} pairs are checked, and a {reporter.name} document holds one report",
            fix=f"name a folder for them: isomorph check --format {reporter.name} -o FOLDER",
        )
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    codes, lines = [], []
    for pair in pairs:
        target = None if output is None else output / f"{_slug(pair.name)}.{_ending(reporter)}"
        with kept_when_interrupted(reporter, target):
            code, line, report = _checked(pair, project)
        codes.append(code)
        lines.append(line)
        if report is None:
            continue
        if target is not None:
            write(reporter.render(report), target)
        elif code != 0 or len(pairs) == 1 or reporter.name != "terminal":
            show_report(report, reporter, None)
    if output is not None or reporter.name == "terminal":
        write("\n".join(["", *lines]), None)
    return next(code for code in _GRAVEST if code in codes)


def _wanted(project: Project, word: str | None) -> tuple[NamedPair, ...]:
    """All pairs, the one of this name, or the same pair in each of its environments."""
    return tuple(
        pair
        for pair in project.pairs
        if word is None or word in (pair.name, pair.name.partition("@")[0])
    )


def _checked(pair: NamedPair, project: Project) -> tuple[int, str, Report | None]:
    from isomorph import api
    from isomorph.cli.progress import Progress

    name = printable(pair.name, limit=60)
    try:
        with Progress() as progress:
            report = api.check(
                pair.reference,
                pair.candidate,
                baseline=project.baseline,
                pair=pair.name,
                progress=progress,
                **pair.options,
            )
    except IsomorphError as error:
        return error.exit_code, f"{name}: error[{error.code}] {printable(error.sentence)}", None
    told = f"{name}: {str(report.verdict).upper()}  {printable(report.reason, limit=200)}"
    if report.accepted and report.exit_code == 0:
        told += "  (accepted by the baseline)"
    return report.exit_code, told, report


def _slug(name: str) -> str:
    return "".join(each if each.isalnum() or each in "-_.@" else "_" for each in name)


def _ending(reporter: Reporter) -> str:
    return {"terminal": "txt", "junit": "xml", "sarif": "sarif", "markdown": "md"}.get(
        reporter.name, reporter.name
    )

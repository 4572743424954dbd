"""The harness: one command in a process of its own, watched from outside, and what it must keep.

Whatever the input, every run is held to the same promises: no traceback, no control character
in what it prints, no process left behind, nothing written but what was asked for.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import jsonschema
import psutil

from isomorph.reporters.json import schema
from warm_process import Warm

MIB = 1 << 20
SCREEN = 24
# Seconds on a quiet machine, and how many times slower a busy one may be before a command hangs.
PATIENCE = 120.0
BUSY = 10
_TICK = 0.03
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, repr=False)
class Ran:
    """What one command did.

    ``peak`` is the most memory of the main process, ``own`` that without the files it maps.
    """

    exit: int
    out: str
    err: str
    seconds: float
    peak: int
    own: int
    made: frozenset = field(default_factory=frozenset)

    def __repr__(self):
        """Enough to see what went wrong, whatever the length of the report."""
        try:
            report = json.loads(self.out)
            summaries = [finding["summary"] for finding in report["findings"]]
            shown = [report["verdict"], report["reason"], summaries]
        except (ValueError, KeyError, TypeError):
            shown = self.out[-1500:]
        return f"exit {self.exit} after {self.seconds:.1f} s\n{shown}\n{self.err[-1500:]}"

    @property
    def report(self):
        """The JSON report, valid by the published schema."""
        report = json.loads(self.out)
        jsonschema.validate(report, schema())
        return report

    @property
    def codes(self):
        """The codes of the findings."""
        return [finding["code"] for finding in self.report["findings"]]

    def finding(self, code):
        """The one finding with this code."""
        found = [each for each in self.report["findings"] if each["code"] == code]
        assert len(found) == 1, f"{len(found)} findings with {code}: {self.out}"
        return found[0]

    @property
    def message(self):
        """The error's lines, without the lines about progress before them."""
        lines = self.err.splitlines()
        starts = [place for place, line in enumerate(lines) if line.startswith("error[")]
        assert len(starts) == 1, f"not exactly one error: {self}"
        return lines[starts[0] :]

    def refused(self, code, *, exit_code=2, mentions=(), file=None):
        """The command ended with this error, in the shape that every error has."""
        lines = self.message
        assert self.exit == exit_code, self
        assert lines[0].startswith(f"error[{code}] "), self
        assert len(lines) <= SCREEN
        assert all(line.startswith(("  why: ", "  fix: ")) for line in lines[1:]), self
        assert self.out == "", "an error is no answer"
        if file is not None:
            joints = (" in ", ": ")  # a part of the file, or the file as a whole
            assert any(f"{joint}{file}" in lines[0] for joint in joints), self
        for word in mentions:
            assert word in "\n".join(lines), f"{word!r} is missing: {self}"
        return "\n".join(lines)


class Command:
    """Runs ``isomorph`` in a folder of its own and watches it."""

    def __init__(self, home):
        self.home = Path(home)
        self.scratch, self.user = self.home / ".scratch", self.home / ".user"
        for folder in (self.scratch, self.user):
            folder.mkdir()

    def __call__(
        self, *words, within=PATIENCE, peak=None, makes=(), env=None, through=(), fresh=False
    ):
        """``through``: the words of a program that starts the command in other surroundings.

        An interpreter is started where it is the subject: ``fresh``, or its memory, its variables
        and its surroundings. The others are forks of one.
        """
        before = self._tree()
        forked = not (fresh or env or through or peak)
        ran = self._watched([*through, *self.line(*words)], within, env, forked=forked)
        assert ran.seconds < within * BUSY, f"did not end within {ran.seconds:.0f} s"
        assert "Traceback" not in ran.out + ran.err, ran.err
        assert ran.exit != 70, ran.err
        assert not list(self.scratch.iterdir()), "temporary files were left behind"
        assert not list(self._survivors()), "a process was left behind"
        if peak is not None:
            assert ran.peak < peak, f"the main process took {ran.peak / MIB:.0f} MiB"
        after = self._tree()
        assert {name: after.get(name) for name in before} == before, "the user's files changed"
        made = frozenset(after) - frozenset(before)
        unwanted = {name for name in made if not any(_below(name, each) for each in makes)}
        assert not unwanted, f"written without being asked for: {unwanted}"
        return Ran(**{**vars(ran), "made": made})

    def line(self, *words):
        """The words that start the command."""
        return [sys.executable, "-m", "isomorph", *map(_word, words)]

    def started(self, *words, **options):
        """The command, begun and not waited for; it is the caller's to end."""
        return subprocess.Popen(
            self.line(*words), cwd=self.home, env=self._environment(None), text=True, **options
        )

    def alive(self):
        """Whether anything that the command started is still there."""
        return any(True for _ in self._survivors())

    def _watched(self, line, within, env, *, forked):
        # Files, not pipes: nothing the command prints can make it or us wait.
        streams = [self.home / ".out", self.home / ".err"]
        started = time.monotonic()
        with streams[0].open("wb") as out, streams[1].open("wb") as err:
            start = Warm if forked else partial(subprocess.Popen, stdin=subprocess.DEVNULL)
            process = start(line, cwd=self.home, env=self._environment(env), stdout=out, stderr=err)
            peak = own = 0
            while process.poll() is None:
                now = _memory(process.pid)
                peak, own = max(peak, now["VmHWM"]), max(own, now["RssAnon"])
                if time.monotonic() - started > within * BUSY:
                    process.kill()
                    process.wait()
                    break
                time.sleep(_TICK)
        seconds = time.monotonic() - started
        raw = [stream.read_bytes() for stream in streams]
        for stream, data in zip(streams, raw, strict=True):
            stream.unlink()
            assert not _CONTROL.search(data), f"control characters were printed: {data!r}"
        out, err = (data.decode("utf-8") for data in raw)
        return Ran(
            exit=process.returncode,
            out=out,
            err=err,
            seconds=seconds,
            peak=peak,
            own=own,
        )

    def _environment(self, more):
        quiet = {"TMPDIR": str(self.scratch), "HOME": str(self.user), "PYTHONUTF8": "1"}
        return {**os.environ, "OMP_NUM_THREADS": "2", **quiet, **(more or {})}

    def _survivors(self):
        """Processes that still have our temporary folder in their environment, or map a file in it.

        A copy of a process shows the environment of the original, but every worker maps a file.
        """
        folder = str(self.scratch)
        for process in psutil.process_iter():
            try:
                copied = any("warm_" in word for word in process.cmdline())
                if process.environ().get("TMPDIR", "").startswith(folder) or (
                    copied and folder in Path(f"/proc/{process.pid}/maps").read_text()
                ):
                    yield process
            except (psutil.Error, OSError):
                continue

    def _tree(self):
        """Every file below the folder, with what it holds."""
        return {str(path.relative_to(self.home)): _content(path) for path in _all(self.home)}


def _word(word):
    return word if isinstance(word, bytes) else os.fspath(word)


def _all(folder):
    for parent, names, files in os.walk(folder):
        yield from (Path(parent) / name for name in (*names, *files))


def _below(name, folder):
    return name == str(folder) or name.startswith(f"{folder}/")


def _content(path):
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if not path.is_file():
        return "no file"
    about = path.stat()
    if about.st_size > 64 * MIB:
        return f"{about.st_size} bytes, written at {about.st_mtime_ns}"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _memory(pid):
    """What the process itself, without its workers, has held at most, and holds of its own."""
    found = {"VmHWM": 0, "RssAnon": 0}
    try:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key in found:
                found[key] = int(value.split()[0]) << 10
    except OSError:
        pass
    return found

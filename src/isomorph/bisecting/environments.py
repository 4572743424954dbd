"""A virtual environment for each release of a package, made when it is first needed and kept.

They lie in one folder, so that the next search finds them. An environment counts once its last
step, a note of what it holds, is done; what an interrupted search left behind is made anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from isomorph.core.bisection_limits import INSTALL_SECONDS
from isomorph.core.errors import RuntimeFailedError, UsageError, message_lines
from isomorph.core.messages import message
from isomorph.core.untrusted_json import read_json
from isomorph.store.atomic import new_file
from isomorph.workers.interpreters import python_version, variables_elsewhere

_NOTE = "isomorph-environment.json"
_PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
_LISTED = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_OLDER_NUMPY = "numpy<2"
"""What a release needs that was built for NumPy 1 and does not say so."""

_VERSIONS = """
import json
from importlib.metadata import distributions
print(json.dumps({each.metadata["Name"]: each.version for each in distributions()}))
"""
Run = Callable[[Sequence[str]], "Ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended, and what it wrote."""

    exit_code: int
    output: str
    errors: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeEnvironment:
    """An environment that holds a release; ``packages`` are all that it holds, with versions."""

    interpreter: str
    packages: Mapping[str, str]


class ReleaseUnusableError(Exception):
    """A release that this Python cannot install or import."""


def default_cache() -> Path:
    """The folder of environments in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if home and Path(home).is_absolute() else Path("~/.cache").expanduser()
    return base / "isomorph" / "environments"


class ReleaseEnvironments:
    """The environments of one package for one Python."""

    def __init__(
        self,
        package: str,
        *,
        exchange: str,
        cache: Path,
        python: str = sys.executable,
        extra: Sequence[str] = (),
        run: Run | None = None,
    ) -> None:
        """``exchange`` is a statement that must work there; ``extra`` are requirements of pip."""
        self._package, self._exchange = package, exchange
        self._cache, self._python, self._extra = cache, python, tuple(extra)
        self._run = run or run_program

    def releases(self) -> tuple[str, ...]:
        """The releases that the index offers to this Python, in its order."""
        ended = self._run([self._pip_python, *_PIP, "index", "versions", self._package])
        listed = _LISTED.search(ended.output)
        if listed is None:
            raise UsageError(
                "NO_RELEASES",
                f"the package index lists no release of {self._package!r} for Python "
                f"{self._version}",
                why=_last_line(ended),
                fix="correct the name, name another Python with --python, or name releases one by "
                "one: --versions 1.20.1,1.22.0",
            )
        return tuple(word.strip() for word in listed[1].split(",") if word.strip())

    def make(self, version: str) -> MadeEnvironment:
        """The environment of a release, from the cache where it was made before."""
        name = "-".join([self._package, version, f"python{self._version}", *self._extra])
        folder = self._cache / re.sub(r"[^0-9A-Za-z.+-]", "_", name)
        interpreter = str(folder / "bin" / "python")
        with _alone(folder.with_name(f"{folder.name}.lock")):
            packages = _noted(folder / _NOTE)
            if packages is None:
                packages = self._made(folder, interpreter, version)
        return MadeEnvironment(interpreter=interpreter, packages=packages)

    def _made(self, folder: Path, interpreter: str, version: str) -> dict[str, str]:
        shutil.rmtree(folder, ignore_errors=True)
        _venv(self._run, self._python, folder)
        wanted = [f"{self._package}=={version}", "numpy", *self._extra]
        self._install(interpreter, wanted)
        check = [interpreter, "-c", self._exchange]
        if self._run(check).exit_code != 0:
            self._install(interpreter, [*wanted[:1], _OLDER_NUMPY, *self._extra])
            ended = self._run(check)
            if ended.exit_code != 0:
                raise ReleaseUnusableError(message("BISECT.unusable", error=_last_line(ended)))
        packages: dict[str, str] = read_json(self._run([interpreter, "-c", _VERSIONS]).output)
        with new_file(folder / _NOTE) as file:
            file.write(json.dumps(packages, indent=1, sort_keys=True).encode())
        return packages

    def _install(self, interpreter: str, requirements: Sequence[str]) -> None:
        pip = [self._pip_python, *_PIP, "--python", interpreter]
        ended = self._run([*pip, "install", "--quiet", "--no-compile", *requirements])
        if ended.exit_code != 0:
            raise ReleaseUnusableError(_last_line(ended))

    @cached_property
    def _pip_python(self) -> str:
        """The interpreter of an environment with pip, of the same Python: its wheels are those."""
        folder = self._cache / f"pip-python{self._version}"
        with _alone(folder.with_name(f"{folder.name}.lock")):
            if _noted(folder / _NOTE) is None:
                shutil.rmtree(folder, ignore_errors=True)
                _venv(self._run, self._python, folder, pip=True)
                with new_file(folder / _NOTE) as file:
                    file.write(b"{}")
        return str(folder / "bin" / "python")

    @cached_property
    def _version(self) -> str:
        return python_version(self._python)


def run_program(words: Sequence[str]) -> Ended:
    """Run a program to its end, without variables that lead to packages of this environment."""
    try:
        ended = subprocess.run(
            list(words),
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=INSTALL_SECONDS,
            cwd="/",  # -c imports from the current folder first
            env=variables_elsewhere(os.environ),
        )
    except subprocess.TimeoutExpired:
        return Ended(exit_code=1, output="", errors=f"no end after {INSTALL_SECONDS:.0f} s")
    output, errors = (text.decode("utf-8", "replace") for text in (ended.stdout, ended.stderr))
    return Ended(exit_code=ended.returncode, output=output, errors=errors)


def _venv(run: Run, python: str, folder: Path, *, pip: bool = False) -> None:
    ended = run([python, "-m", "venv", *(() if pip else ("--without-pip",)), str(folder)])
    if ended.exit_code != 0:
        raise RuntimeFailedError(
            "ENVIRONMENT_NOT_MADE",
            "a virtual environment cannot be made:",
            file=str(folder),
            why=_last_line(ended),
            fix="choose a folder that can be written to with --cache DIR; on Debian and Ubuntu, "
            "venv is a package of its own (python3-venv)",
        )


def _noted(path: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = read_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found


def _last_line(ended: Ended) -> str:
    """The last line of an error; those of pip about warnings and its own version come earlier."""
    lines = message_lines(ended.errors) or message_lines(ended.output)
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or [f"exit code {ended.exit_code}"])[-1].removeprefix("ERROR: ")


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """No other process makes the same environment meanwhile."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("wb")
    except OSError as error:
        raise UsageError(
            "OUTPUT_UNWRITABLE",
            "the folder of environments cannot be written to:",
            file=str(lock.parent),
            why=str(error),
            fix="name another with --cache DIR",
        ) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

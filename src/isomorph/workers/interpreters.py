"""Python interpreters of other environments: found by a word of the user, and examined.

A worker needs Python 3.10 or later and NumPy there, and the package of its runtime; isomorph
itself is imported from where it is installed here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from isomorph.core.errors import IsomorphError, MissingDependencyError, UsageError
from isomorph.core.escaping import printable
from isomorph.core.untrusted_json import read_json

OLDEST = (3, 10)
"""Older ones lack syntax and parts of the standard library that workers use."""

_SECONDS = 120.0
"""How long an interpreter may take to start and to import NumPy, on a busy machine."""

_COMMAND = re.compile(r"python:(\d+(?:\.\d+)*)")
_MARK = "isomorph-environment:"
_INHERITED = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
"""Variables that would give one environment the packages of another."""

# Any Python since 2.7 runs this.
_EXAMINE = f"""
import json, sys
found = {{"version": list(sys.version_info[:3]), "numpy": "", "why": ""}}
try:
    import numpy
    found["numpy"] = numpy.__version__
except Exception as error:
    found["why"] = type(error).__name__ + ": " + str(error)
sys.stdout.write("\\n{_MARK}" + json.dumps(found) + "\\n")
"""


_PACKAGES = """
import json, sys
from importlib.metadata import distributions
found = {str(each.metadata["Name"]).lower(): each.version for each in distributions()}
print(json.dumps({**found, "python": ".".join(map(str, sys.version_info[:3]))}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python executable that can run a worker."""

    path: str
    version: str
    numpy: str


def python_version(path: str) -> str:
    """The version of the Python that an executable is, with or without NumPy: ``3.11``."""
    return ".".join(str(part) for part in _checked(path)["version"][:2])


def find_interpreter(place: str) -> Interpreter:
    """The interpreter of a virtual environment's folder, an executable, or ``python:3.12``."""
    return examined(find_executable(place))


@cache
def examined(path: str) -> Interpreter:
    """What an executable says about itself; an error where no worker can run in it."""
    found = _checked(path)
    if not found["numpy"]:
        raise UsageError(
            "ENVIRONMENT_LACKS_PACKAGE",
            "the environment of this interpreter has no NumPy that can be imported:",
            file=path,
            why=found["why"] or None,
            fix=f"{path} -m pip install numpy",
        )
    version = ".".join(str(part) for part in found["version"])
    return Interpreter(path=path, version=version, numpy=found["numpy"])


def _checked(path: str) -> dict[str, Any]:
    """What an executable says about itself, if it is a Python that workers can use."""
    found = _answer(path)
    version = ".".join(str(part) for part in found["version"])
    if tuple(found["version"]) < OLDEST:
        raise UsageError(
            "INTERPRETER_TOO_OLD",
            f"Python {version} cannot run a worker:",
            file=path,
            why="workers need Python 3.10 or later",
            fix="make an environment with a later Python; 3.10 has releases of ONNX Runtime from "
            "1.12, of PyTorch from 1.11 and of TensorFlow from 2.8",
        )
    return found


@cache
def installed_packages(path: str) -> Mapping[str, str]:
    """The version of every package that an interpreter's environment holds."""
    ended = subprocess.run(
        [path, "-c", _PACKAGES],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=_SECONDS,
        cwd="/",
        env=variables_elsewhere(os.environ),
    )
    try:
        found: dict[str, str] = read_json(ended.stdout.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise _no_python(path, f"it ended with exit code {ended.returncode}") from error
    return found


def variables_elsewhere(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment variables for another interpreter: none that leads to packages of ours."""
    return {name: value for name, value in variables.items() if name not in _INHERITED}


def lacks_package(package: str, path: str, *, needed_for: str) -> IsomorphError:
    """The error for a package that another environment does not have."""
    return UsageError(
        "ENVIRONMENT_LACKS_PACKAGE",
        f"{needed_for} needs {package!r}, which this interpreter's environment does not have:",
        file=path,
        fix=f"{path} -m pip install {package}",
    )


@contextmanager
def named_environment(interpreter: str) -> Iterator[None]:
    """What another environment lacks is to be installed there, and not here."""
    try:
        yield
    except MissingDependencyError as error:
        if not interpreter:
            raise
        raise lacks_package(error.package, interpreter, needed_for=error.needed_for) from error


def find_executable(place: str) -> str:
    """The path of the executable that the word names; it is not started."""
    command = _COMMAND.fullmatch(place)
    if command is not None:
        found = shutil.which(f"python{command[1]}")
        if found is None:
            raise UsageError(
                "INTERPRETER_NOT_FOUND",
                f"there is no command python{command[1]}",
                why="it was looked for in the folders of PATH",
                fix="install that Python, or give the path of an executable or of a virtual "
                "environment after the @",
            )
        return found
    path = Path(place).expanduser()
    if path.is_dir():
        folder, path = path, path / "bin" / "python"
        if not path.exists():
            raise UsageError(
                "INTERPRETER_NOT_FOUND",
                "the folder is no virtual environment:",
                file=str(folder),
                why="it has no bin/python",
                fix=f"python3 -m venv {printable(str(folder))}",
            )
    if not path.is_file() or not os.access(path, os.X_OK):
        raise UsageError(
            "INTERPRETER_NOT_FOUND",
            "there is no such interpreter:",
            file=place,
            why="expected the folder of a virtual environment, an executable, or python:3.12",
        )
    # Not resolved: the link in a virtual environment is what leads to its packages.
    return os.path.abspath(path)  # noqa: PTH100


def _answer(path: str) -> dict[str, Any]:
    try:
        ended = subprocess.run(
            [path, "-c", _EXAMINE],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            cwd="/",
            env=variables_elsewhere(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _no_python(path, str(error)) from error
    text = ended.stdout.decode("utf-8", "replace")
    line = next((each for each in reversed(text.splitlines()) if each.startswith(_MARK)), "")
    try:
        found = read_json(line.removeprefix(_MARK))
        fits = (
            isinstance(found["why"], str)
            and isinstance(found["numpy"], str)
            and all(isinstance(part, int) for part in found["version"])
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        fits = False
    if not fits:
        last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        wrote = f"; it wrote {printable(last[0], limit=200)!r}" if last else ""
        raise _no_python(path, f"it ended with exit code {ended.returncode}{wrote}")
    result: dict[str, Any] = found
    return result


def _no_python(path: str, why: str) -> UsageError:
    return UsageError(
        "INTERPRETER_UNUSABLE",
        "this does not work as a Python interpreter:",
        file=path,
        why=why,
        fix="name the executable of Python 3.10 or later, or the folder of a virtual environment",
    )

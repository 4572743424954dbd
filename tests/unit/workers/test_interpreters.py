"""An interpreter is found by a word and examined before anything is asked of it."""

import sys
from importlib.metadata import version

import numpy as np
import pytest

from isomorph.core.errors import UsageError
from isomorph.workers import interpreters
from isomorph.workers.interpreters import (
    examined,
    find_executable,
    find_interpreter,
    installed_packages,
    variables_elsewhere,
)


def program(path, text):
    """An executable that prints, in the place of a Python."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def claims(version, numpy="2.0.0"):
    """What the question about version and NumPy is answered with."""
    fields = f'{{"version": {version}, "numpy": "{numpy}", "why": "ImportError: no numpy"}}'
    return f"echo 'a banner'; echo '{interpreters._MARK}{fields}'"


def code_of(place):
    with pytest.raises(UsageError) as caught:
        find_interpreter(place)
    return caught.value.code


def test_an_executable_says_its_version_and_that_of_numpy():
    found = find_interpreter(sys.executable)
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.numpy == np.__version__
    # The link of a virtual environment is not followed: it leads to its packages.
    assert found.path == sys.executable


def test_the_folder_of_a_virtual_environment_stands_for_its_interpreter(tmp_path):
    (tmp_path / "bin").mkdir()
    path = program(tmp_path / "bin" / "python", claims([3, 12, 1]))
    assert find_interpreter(str(tmp_path)).path == path
    assert find_interpreter(str(tmp_path)).version == "3.12.1"


def test_a_command_is_looked_for_in_the_path(tmp_path, monkeypatch):
    path = program(tmp_path / "python3.77", claims([3, 77, 0]))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_executable("python:3.77") == path
    assert code_of("python:3.78") == "INTERPRETER_NOT_FOUND"


def test_what_is_not_there_is_no_interpreter(tmp_path):
    assert code_of(str(tmp_path / "nothing")) == "INTERPRETER_NOT_FOUND"
    assert code_of(str(tmp_path)) == "INTERPRETER_NOT_FOUND"
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert code_of(str(tmp_path / "file")) == "INTERPRETER_NOT_FOUND"


def test_a_program_that_is_no_python_is_refused(tmp_path):
    for name, text in (("silent", "exit 0"), ("failing", "exit 3"),
                       ("lying", f"echo '{interpreters._MARK}[]'")):  # fmt: skip
        assert code_of(program(tmp_path / name, text)) == "INTERPRETER_UNUSABLE"


def test_an_older_python_is_refused_with_its_version(tmp_path):
    path = program(tmp_path / "old", claims([3, 9, 18]))
    with pytest.raises(UsageError, match=r"Python 3\.9\.18") as caught:
        find_interpreter(path)
    assert caught.value.code == "INTERPRETER_TOO_OLD"


def test_an_environment_without_numpy_is_refused_with_the_command_for_it(tmp_path):
    path = program(tmp_path / "bare", claims([3, 11, 0], numpy=""))
    with pytest.raises(UsageError) as caught:
        find_interpreter(path)
    assert caught.value.code == "ENVIRONMENT_LACKS_PACKAGE"
    assert caught.value.fix == f"{path} -m pip install numpy"
    # Its version can be asked for all the same.
    assert interpreters.python_version(path) == "3.11"


def test_packages_are_not_imported_from_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("__version__ = 'planted'", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    examined.cache_clear()
    assert find_interpreter(sys.executable).numpy == np.__version__


def test_variables_that_lead_to_packages_are_left_out():
    given = {"PATH": "/bin", "PYTHONPATH": "/ours", "PYTHONHOME": "/ours"}
    assert variables_elsewhere(given) == {"PATH": "/bin"}


def test_every_package_of_an_environment_is_listed():
    assert installed_packages(sys.executable)["numpy"] == version("numpy")

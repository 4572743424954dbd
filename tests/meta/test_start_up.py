import subprocess
import sys

import pytest

from isomorph.cli.app import COMMANDS

HEAVY = {"torch", "tensorflow", "keras", "onnx", "onnxruntime", "numpy", "jax", "ml_dtypes"}


def _loaded(action):
    python = [sys.executable, "-X", "importtime", *action]
    log = subprocess.run(python, capture_output=True, text=True, check=True).stderr
    return {line.rpartition("|")[2].strip() for line in log.splitlines()}


@pytest.mark.parametrize(
    "action",
    [
        ["-c", "import isomorph"],
        ["-m", "isomorph", "--help"],
        ["-m", "isomorph", "check", "--help"],
        ["-m", "isomorph", "--version"],
    ],
)
def test_start_up_imports_nothing_heavy(action):
    loaded = _loaded(action)
    assert "isomorph" in loaded, "the probe saw nothing"
    assert not HEAVY & loaded


def test_the_probe_would_see_numpy():
    assert "numpy" in _loaded(["-c", "import isomorph, numpy"])


def test_import_of_the_package_brings_no_command_line():
    assert not {"isomorph.cli", "rich"} & _loaded(["-c", "import isomorph"])


def test_the_help_imports_no_command():
    loaded = _loaded(["-m", "isomorph", "--help"])
    assert "isomorph.cli.app" in loaded
    assert not {f"isomorph.cli.{name}" for name in COMMANDS} & loaded
    assert not {"isomorph.api", "rich", "pydantic"} & loaded

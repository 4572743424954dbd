"""The scripts of docs/defects show their defects with the pinned versions, without isomorph."""

import subprocess
import sys
from pathlib import Path

import pytest

from warm_process import WITHOUT_ISOMORPH, ran

FOLDER = Path(__file__).parents[2] / "docs" / "defects"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def _ran(script, folder):
    command, package = [sys.executable, str(script)], script.stem.partition("_")[0]
    # A fork of a process that has imported the package, which takes longer than what it does.
    if package in WITHOUT_ISOMORPH:
        return ran(command, folder, preload=WITHOUT_ISOMORPH[package])
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_shows_the_defect(script, tmp_path):
    done = _ran(script, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_needs_no_isomorph(script):
    assert "import isomorph" not in script.read_text(encoding="utf-8")


def test_every_script_is_in_the_table():
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [each.name for each in SCRIPTS if f"]({each.name})" not in table] == []

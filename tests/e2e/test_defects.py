"""The scripts of docs/defects show their defects with the pinned versions, without isomorph."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "defects"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_shows_the_defect(script):
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_needs_no_isomorph(script):
    assert "import isomorph" not in script.read_text(encoding="utf-8")


def test_every_script_is_in_the_table():
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [each.name for each in SCRIPTS if f"]({each.name})" not in table] == []

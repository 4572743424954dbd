"""What the gates look at: the repository as git knows it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root():
    """The repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def tracked():
    """Every file that git tracks and that is still there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]

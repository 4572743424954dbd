import importlib
import os
from pathlib import Path

import pytest

from isomorph import registry

EXTENSIONS = Path(__file__).parent / "extensions"

ENTRY_POINTS = """
[isomorph.frameworks]
stranger = stranger:Framework
[isomorph.runtimes]
stranger = stranger:Runtime
stranger_oracle = stranger:Oracle
stranger_particular = stranger:Particular
"""


def _forget():
    importlib.invalidate_caches()
    registry._found.cache_clear()
    registry.load.cache_clear()


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """Installs the stranger for this test, here and in every process started from here."""
    installed = tmp_path / "site" / "stranger-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(ENTRY_POINTS)
    paths = [str(installed.parent), str(EXTENSIONS)]
    for path in paths:
        monkeypatch.syspath_prepend(path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    _forget()
    yield
    monkeypatch.undo()
    _forget()


@pytest.fixture
def model_file(tmp_path):
    """Writes a model of the stranger's; the words are what loading it does."""

    def write(*words):
        path = tmp_path / "model.strange"
        path.write_text(" ".join(("stranger", *words)))
        return path

    return write

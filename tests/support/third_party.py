import importlib
import os
from pathlib import Path

import pytest

from isomorph import registry

EXTENSIONS = Path(__file__).parent / "extensions"

ENTRY_POINTS = """
[isomorph.frameworks]
toy_plugin = toy_plugin:Framework
[isomorph.runtimes]
toy_plugin = toy_plugin:Runtime
toy_plugin_oracle = toy_plugin:Oracle
toy_plugin_particular = toy_plugin:Particular
"""


def _forget():
    importlib.invalidate_caches()
    registry.forget()


@pytest.fixture
def toy_plugin(tmp_path, monkeypatch):
    """Installs the toy plugin for this test, here and in every process started from here."""
    installed = tmp_path / "site" / "toy_plugin-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy_plugin\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(ENTRY_POINTS)
    paths = [str(installed.parent), str(EXTENSIONS)]
    for path in paths:
        monkeypatch.syspath_prepend(path)
    for path in reversed(paths):
        monkeypatch.setenv("PYTHONPATH", path, prepend=os.pathsep)
    _forget()
    yield
    monkeypatch.undo()
    _forget()


@pytest.fixture
def model_file(tmp_path):
    """Writes a model of the toy_plugin's; the words are what loading it does."""

    def write(*words):
        path = tmp_path / "model.strange"
        path.write_text(" ".join(("toy_plugin", *words)))
        return path

    return write

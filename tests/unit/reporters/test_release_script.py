"""The program runs by itself, keeps its outputs, and compares them with those of another run."""

import subprocess
import sys

import numpy as np

from isomorph.core.extraction import ScriptSource
from isomorph.reporters.release_script import release_script

RELEASE = "__version__ = {!r}\nSTEP = {!r}\n"
SOURCE = ScriptSource(
    imports=("import package",), packages=("package",), variables={"SIZE": "2"},
    body=("import os", "first, second = feeds.values()",
          "return {'sum': first + second + package.STEP,",
          "        'size': np.float32(os.environ['SIZE'])}[output]"),
)  # fmt: skip


def run(folder):
    done = subprocess.run(
        [sys.executable, "-B", "run.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_two_releases_are_compared(tmp_path):
    text = release_script("model.onnx", SOURCE, ("a", "b"), ("sum", "size"))
    (tmp_path / "run.py").write_text(text, encoding="utf-8")
    # Stored in another order than the model's inputs have.
    np.savez(tmp_path / "inputs-x.npz", b=np.ones(3, np.float32), a=np.zeros(3, np.float32))
    (tmp_path / "package.py").write_text(RELEASE.format("1.0", 0.0), encoding="utf-8")
    assert run(tmp_path) == ["package 1.0"]
    (tmp_path / "package.py").write_text(RELEASE.format("1.1", 0.5), encoding="utf-8")
    assert run(tmp_path) == [
        "package 1.1",
        "outputs-x-of-1.0.npz: sum: largest difference 0.5",
        "outputs-x-of-1.0.npz: size: largest difference 0",
    ]
    with np.load(tmp_path / "outputs-x-of-1.1.npz") as kept:
        np.testing.assert_array_equal(kept["sum"], np.full(3, 1.5, np.float32))

"""The programs of benchmarks/ say what they take, and start nothing that nobody asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

from warm_process import ran

PACKAGES = ("numpy", "onnx")
"""What most of the programs import."""

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def program(name, *words):
    line = [sys.executable, "-X", "importtime", str(BENCHMARKS / name), *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("name", ["speed.py", "models.py"])
def test_help_imports_no_framework(name):
    done = program(name, "--help")
    assert done.returncode == 0
    for word in ("--only", "int8_cnn") if name == "speed.py" else ("--only",):
        assert word in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "measuring.tables" in imported
    assert not {"torch", "tensorflow", "onnxruntime", "numpy"} & imported


def test_an_unknown_network_is_refused_with_the_known_ones():
    done = program("speed.py", "--only", "resnet51")
    assert done.returncode == 2
    assert "resnet50" in done.stderr


def test_every_kind_of_pass_is_one_that_the_step_knows(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from measuring.step import KINDS
    from networks.all_networks import NAMES
    from networks.kinds import kinds_of, plain_of

    for name in NAMES:
        asked = {kind.step for kind in (plain_of(name), *kinds_of(name))}
        assert asked <= set(KINDS)
        assert any("oracle" in step for step in asked)
        assert any("capture" in step for step in asked)


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_every_program_has_a_brief_form_for_make_bench(path):
    done = ran([sys.executable, str(path), "--help"], path.parent, preload=PACKAGES)
    assert done.returncode == 0, done.stderr
    assert "--brief" in done.stdout
    page = (BENCHMARKS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"| `{path.name}` |" in page

"""The install without any framework extra, in an environment of its own."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".base-venv"
PARTS = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "src")


def _digest(*parts):
    total = hashlib.sha256(sys.version.encode())
    for part in parts:
        path = ROOT / part
        for file in sorted(path.rglob("*") if path.is_dir() else [path]):
            if file.is_file() and "__pycache__" not in file.parts:
                total.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The python of an environment that holds isomorph and its base requirements, kept for reruns.

    A change of the requirements makes it anew; a change of the source installs the source again.
    """
    HOME.mkdir(exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _install(tmp_path_factory.mktemp("source"))


def _install(source):
    needs, all_of_it = _digest("pyproject.toml", "constraints.txt"), _digest(*PARTS)
    venv, stamp = HOME / "venv", HOME / "installed.json"
    python = venv / "bin" / "python"
    was = json.loads(stamp.read_text()) if stamp.exists() else {}
    if was == {"needs": needs, "source": all_of_it} and python.exists():
        return python
    # Built from a copy: a build leaves files where it happens.
    for part in PARTS:
        target = source / part
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, target)
    if was.get("needs") != needs or not python.exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        again = []
    else:
        again = ["--no-deps", "--force-reinstall"]
    stamp.unlink(missing_ok=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    # Python compiles what is imported; that is a small part of the packages.
    done = subprocess.run([*pip, *again, "--no-compile", "-c", source / "constraints.txt", source],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    stamp.write_text(json.dumps({"needs": needs, "source": all_of_it}))
    return python


def _isomorph(python, folder, *line):
    away = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if key not in away}
    return subprocess.run(
        [python.parent / "isomorph", *line],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def _save(path, scale):
    weight = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32) * scale
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(weight.astype(np.float32), "w")],
    )
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def test_no_framework_is_there(base, tmp_path):
    for module in ("torch", "tensorflow", "jax", "pytest"):
        line = [base, "-c", f"import {module}"]
        probe = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert f"No module named '{module}'" in probe.stderr


def test_the_package_holds_every_file_of_the_source(base, tmp_path):
    """The page, the schemas, the codes: what is no module is easily left out of a wheel."""
    where = "import isomorph; print(isomorph.__path__[0])"
    done = subprocess.run(
        [base, "-I", "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    installed = Path(done.stdout.strip())
    assert installed.parent.name == "site-packages"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    names = [name.removeprefix("src/") for name in listed.split("\0") if name]
    assert "isomorph/web/page.html" in names
    assert not [name for name in names if not (installed.parent / name).is_file()]


def test_an_onnx_pair_is_checked(base, tmp_path):
    _save(tmp_path / "a.onnx", 1.0)
    _save(tmp_path / "b.onnx", 1.0)
    done = _isomorph(base, tmp_path, "check", "a.onnx", "b.onnx")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("EQUIVALENT")


def test_a_wrong_onnx_pair_is_divergent(base, tmp_path):
    _save(tmp_path / "a.onnx", 1.0)
    _save(tmp_path / "b.onnx", 1.001)
    done = _isomorph(base, tmp_path, "check", "a.onnx", "b.onnx")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("DIVERGENT")


def test_a_torch_file_gives_the_line_that_installs_torch(base, tmp_path):
    torch = pytest.importorskip("torch")
    program = torch.export.export(torch.nn.Linear(3, 2), (torch.zeros(1, 3),))
    torch.export.save(program, tmp_path / "m.pt2")
    _save(tmp_path / "a.onnx", 1.0)
    done = _isomorph(base, tmp_path, "check", "m.pt2", "a.onnx")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "error[MISSING_EXTRA]" in done.stderr
    assert "pip install 'isomorph[torch]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_demo_converts_with_onnx_alone_and_names_torch(base, tmp_path):
    done = _isomorph(base, tmp_path, "demo", "--keep", "kept")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.index("EQUIVALENT") < done.stdout.index("DIVERGENT")
    assert "pip install 'isomorph[torch]'" in done.stdout
    assert (tmp_path / "kept" / "altered.html").is_file()


def test_doctor_lists_what_is_installed_and_what_is_missing(base, tmp_path):
    done = _isomorph(base, tmp_path, "doctor", "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("READY: isomorph reads and runs models of onnx\n")
    states = {tuple(line.split()[:2]) for line in done.stdout.splitlines()}
    assert ("ok", "onnxruntime") in states
    assert ("missing", "torch") in states
    assert "pip install 'isomorph[torch]'" in done.stdout


def test_the_page_ships_and_the_viewer_names_what_it_needs(base, tmp_path):
    _save(tmp_path / "a.onnx", 1.0)
    _save(tmp_path / "b.onnx", 1.001)
    done = _isomorph(
        base, tmp_path, "check", "a.onnx", "b.onnx", "--format", "html", "-o", "p.html"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert '"graphs":[{' in (tmp_path / "p.html").read_text(encoding="utf-8")
    done = _isomorph(base, tmp_path, "view", "--no-browser")
    assert done.returncode == 2
    assert "pip install 'isomorph[view]'" in done.stderr

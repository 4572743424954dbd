"""Runtimes of another Python environment, and the release that changed a verdict."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

import isomorph
from isomorph.bisecting import environments
from isomorph.core.errors import IsomorphError
from other_environments import CHANGED_RELEASE, NOTED_START, made_environment, started

MODEL = (
    '<ir_version: 9, opset_import: ["": 17]> net (float[2,4] x) => (float[2,4] y) '
    "<float slope = {1.5}> { a = Mul (x, slope)  y = Tanh (a) }"
)

SWEEP = """
[models.a]
reference = "net.onnx"
candidate = "net.onnx"
[environments.b]
runtime = "onnxruntime@./planted"
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(parser.parse_model(MODEL), path)
    return path


@pytest.fixture(scope="module")
def noting(tmp_path_factory):
    """An environment that notes each start of its interpreter, and where."""
    folder = tmp_path_factory.mktemp("noting")
    log = folder / "starts.txt"
    return made_environment(folder / "env", start=NOTED_START.format(log=str(log))), log


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """An environment whose ONNX Runtime is another release, with wrong outputs."""
    start = CHANGED_RELEASE.format(version="9.9.9", shift=0.25)
    return made_environment(tmp_path_factory.mktemp("shifted") / "env", start=start)


def command(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "isomorph", *map(str, words)],
        capture_output=True, text=True, check=False, timeout=300, cwd=cwd,
    )  # fmt: skip


def test_one_side_runs_in_the_interpreter_that_is_named(model, noting):
    python, log = noting
    before = len(started(log))
    report = isomorph.check(
        model, model, runtime={"candidate": f"onnxruntime@{python.parent.parent}"}, quick=True
    )
    assert report.verdict == "equivalent"
    run = report.environments["candidate run"]
    assert run.interpreter == str(python)
    assert run.facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert report.environments["reference run"].interpreter == ""
    assert report.environments["candidate oracle"].interpreter == ""
    # One start is a question, and one is the worker.
    starts = started(log)[before:]
    assert all(each.startswith(str(python)) for each in starts)
    assert any(each.endswith("start_elsewhere.py") for each in starts)


def test_two_releases_are_compared_in_one_check(model, shifted):
    ended = command("check", model, model, "--runtime", "reference=onnxruntime",
                    "--runtime", f"candidate=onnxruntime@{shifted}")  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert f"onnxruntime 9.9.9, Python {sys.version.split()[0]} " in ended.stdout


def test_a_whole_worker_is_started_for_a_runtime_that_loads_its_models(noting, tmp_path):
    from tflite_building import small

    python, log = noting
    path = tmp_path / "small.tflite"
    path.write_bytes(small().data())
    before = len(started(log))
    found = isomorph.run(path, runtime=f"tflite@{python}")
    assert found.environment.interpreter == str(python)
    assert any(each.endswith("start_elsewhere.py") for each in started(log)[before:])
    usual = isomorph.run(path)
    assert usual.environment.version == found.environment.version
    for name, value in usual.tensors.items():
        np.testing.assert_array_equal(value, found.tensors[name])


def test_a_package_that_is_missing_there_is_named_with_its_command(model, tmp_path):
    python = made_environment(tmp_path / "env", packages=False)
    numpy = Path(np.__file__).parent
    own = next((tmp_path / "env" / "lib").glob("python*")) / "site-packages"
    (own / "numpy").symlink_to(numpy)
    libraries = numpy.with_name("numpy.libs")
    if libraries.is_dir():
        (own / "numpy.libs").symlink_to(libraries)
    with pytest.raises(IsomorphError) as caught:
        isomorph.run(model, runtime=f"onnxruntime@{python}")
    assert caught.value.code == "ENVIRONMENT_LACKS_PACKAGE"
    assert caught.value.fix == f"{python} -m pip install onnxruntime"


def test_another_environment_needs_a_worker(model, noting):
    with pytest.raises(IsomorphError) as caught:
        isomorph.run(model, runtime=f"onnxruntime@{noting[0]}", in_process=True)
    assert caught.value.code == "INTERPRETER_NEEDS_WORKER"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("isomorph.toml", '[pairs.a]\nreference = "net.onnx"\nruntime = "onnxruntime@./planted"\n'),
        (
            "sweep.toml",
            SWEEP,
        ),
    ],
)
def test_a_file_starts_no_interpreter_that_nobody_trusts(model, tmp_path, name, text):
    (tmp_path / "net.onnx").write_bytes(model.read_bytes())
    (tmp_path / name).write_text(text, encoding="utf-8")
    planted = tmp_path / "planted"
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    planted.chmod(0o755)
    ended = command("sweep" if name == "sweep.toml" else "check", cwd=tmp_path)
    assert ended.returncode == 4, ended.stderr
    assert "INTERPRETER_NEEDS_TRUST" in ended.stderr
    assert not (tmp_path / "ran").exists()
    if name == "isomorph.toml":
        assert command("check", "--trust", cwd=tmp_path).returncode == 2
        assert (tmp_path / "ran").exists()


def test_the_release_that_changed_a_verdict_is_found(model, tmp_path, noting, shifted, monkeypatch):
    made = {"1.0": noting[0], "1.1": noting[0], "1.2": shifted, "2.0": shifted}

    class Releases(environments.ReleaseEnvironments):
        def releases(self):
            return tuple(made)

        def make(self, version):
            if version == "1.1":
                raise environments.ReleaseUnusableError("no wheel for this Python")
            return environments.MadeEnvironment(
                interpreter=str(made[version]), packages={"numpy": np.__version__}
            )

    monkeypatch.setattr(environments, "ReleaseEnvironments", Releases)
    tried = []
    found = isomorph.bisect(
        model, package="onnxruntime", versions="1.0..2.0", cache=tmp_path / "cache",
        reproducer=tmp_path / "shown", on_trial=tried.append,
    )  # fmt: skip
    assert (found.outcome, found.before, found.after) == ("found", "1.0", "1.2")
    assert found.without_verdict == ("1.1",)
    assert [each.point for each in tried] == [each.point for each in found.trials]
    assert found.exit_code == 0
    readme = (tmp_path / "shown" / "README.md").read_text(encoding="utf-8")
    # What the program printed in both environments is there, with the shift of the outputs.
    assert "onnxruntime==1.2" in readme
    assert "largest difference 0.25" in readme
    assert "onnxruntime 9.9.9" in readme
    assert (tmp_path / "shown" / "net.onnx").read_bytes() == model.read_bytes()


def test_an_optimizer_that_changes_nothing_is_no_answer(model, tmp_path):
    ended = command("bisect", model, "--over", "optimizers", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["outcome"] == "ends-agree"


def test_the_operator_set_that_changes_a_conversion_is_found_by_the_command(tmp_path):
    text = (
        '<ir_version: 5, opset_import: ["": 11]> net (float[2,3,4] x) => (float[2,3,4] y) '
        "{ y = Hardmax <axis = 1> (x) }"
    )
    onnx.save(parser.parse_model(text), tmp_path / "hardmax.onnx")
    ended = command("bisect", "hardmax.onnx", "--convert", "onnx", "--over", "opsets",
                    "--versions", "12,13", cwd=tmp_path)  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("operator set 13 is the first with another verdict: DIVERGENT")
    assert "isomorph: 12: EQUIVALENT" in ended.stderr

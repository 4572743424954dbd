"""The GitHub Action: its script is run as a runner would run it."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.e2e.test_cli_check import _save

ACTION = Path(__file__).resolve().parents[2] / "action.yml"


@pytest.mark.parametrize(
    ("arguments", "code"), [("", 1), ("good", 0), ("a.onnx same.onnx", 0), ("nowhere.onnx", 2)]
)
def test_the_script_checks_annotates_and_outputs_the_exit_code(tmp_path, arguments, code):
    _save(tmp_path / "a.onnx")
    _save(tmp_path / "same.onnx")
    _save(tmp_path / "wrong.onnx", epsilon=1e-3)
    pairs = [("good", "same"), ("odd", "wrong")]
    (tmp_path / "isomorph.toml").write_text(
        "".join(
            f'[pairs.{name}]\nreference = "a.onnx"\ncandidate = "{file}.onnx"\n'
            for name, file in pairs
        )
    )
    script = re.search(r"run: \|\n((?: {8}.*\n)+)", ACTION.read_text(encoding="utf-8"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    output = tmp_path / "github_output"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", textwrap.dedent(script[1])],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": path, "ARGUMENTS": arguments, "GITHUB_OUTPUT": str(output)},
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    assert output.read_text() == f"exit-code={code}\n"
    assert ("::error" in done.stdout) == (code == 1)


def test_no_input_is_part_of_a_script():
    scripts = re.findall(r"run: (?:\|\n(?: {8}.*\n)+|.*\n)", ACTION.read_text(encoding="utf-8"))
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)


def test_it_is_a_composite_action_as_the_marketplace_wants_it():
    """By GitHub's metadata syntax: every step has a shell, every input says what it is for."""
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    assert set(action) == {"name", "description", "branding", "inputs", "outputs", "runs"}
    colors = {"white", "black", "yellow", "blue", "green", "orange", "red", "purple", "gray-dark"}
    assert action["branding"]["color"] in colors
    for each in action["inputs"].values():
        assert set(each) == {"description", "required", "default"}
        assert isinstance(each["default"], str)
    assert action["runs"]["using"] == "composite"
    steps = action["runs"]["steps"]
    assert all(step["shell"] == "bash" and step["run"] for step in steps)
    known = {step["id"] for step in steps if "id" in step}
    for output in action["outputs"].values():
        named = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.[\w-]+ \}\}", output["value"])
        assert named[1] in known
    passed = {name for step in steps for name in step["env"].values()}
    asked = {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    assert asked - passed == {"${{ inputs.working-directory }}"}


@pytest.mark.parametrize(
    ("package", "installed"), [("", "/here[torch,tflite]"), ("isomorph==9", "isomorph==9")]
)
def test_its_own_version_is_installed_unless_another_is_named(tmp_path, package, installed):
    line = re.search(r"run: (python -m pip install .*)\n", ACTION.read_text(encoding="utf-8"))[1]
    done = subprocess.run(
        ["bash", "-e", "-c", line.replace("python -m pip", "echo")],
        capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "PACKAGE": package, "EXTRAS": "torch,tflite",
             "GITHUB_ACTION_PATH": "/here"},
    )  # fmt: skip
    assert done.stdout.split()[-1] == installed

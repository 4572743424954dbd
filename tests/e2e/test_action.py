"""The GitHub Action: its script is run as a runner would run it."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from test_cli_check import _save

ACTION = Path(__file__).resolve().parents[2] / "action.yml"


@pytest.mark.parametrize(
    ("arguments", "code"), [("", 1), ("good", 0), ("a.onnx same.onnx", 0), ("nowhere.onnx", 2)]
)
def test_the_script_checks_annotates_and_tells_the_exit_code(tmp_path, arguments, code):
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

"""The hook of .pre-commit-hooks.yaml, run as pre-commit runs it: its entry, in a repository."""

import re
import shlex
import subprocess
from pathlib import Path

import onnx
import pytest
from onnx import parser

from isomorph.__main__ import main

HOOKS = Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml"
HEAD = '<ir_version: 10, opset_import: ["": 21]> g (float[2,3] x) => (float[2,3] y) '
BODIES = {
    "reference": "{ y = Relu(x) }",
    "good": "{ z = Identity(x) y = Relu(z) }",
    "bad": "{ y = Abs(x) }",
}


@pytest.mark.parametrize(("candidate", "code"), [("good", 0), ("bad", 1)])
def test_a_commit_with_a_divergent_pair_is_refused(candidate, code, tmp_path, monkeypatch, capsys):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name, body in BODIES.items():
        onnx.save(parser.parse_model(HEAD + body), tmp_path / f"{name}.onnx")
    (tmp_path / "isomorph.toml").write_text(
        f'[pairs.model]\nreference = "reference.onnx"\ncandidate = "{candidate}.onnx"\n'
    )
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(re.search(r"^  entry: (.+)$", HOOKS.read_text(), re.M)[1])
    assert program == "isomorph"
    assert main([*words, "--in-process"]) == code
    assert "model: " in capsys.readouterr().out

"""``-o FILE`` writes the format of the suffix, and the terminal says what and where."""

import json

import onnx
import pytest
from onnx import parser

from isomorph.__main__ import main

HEAD = '<ir_version: 10, opset_import: ["": 21]> g (float[2,3] x) => (float[2,3] y) '
BODIES = {
    "a": "{ y = Relu(x) }",
    "same": "{ z = Identity(x) y = Relu(z) }",
    "other": "{ y = Abs(x) }",
}
PAIR = "a.onnx", "same.onnx", "--in-process"


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, body in BODIES.items():
        onnx.save(parser.parse_model(HEAD + body), f"{name}.onnx")


@pytest.mark.parametrize(
    ("words", "option", "schema", "line"),
    [
        (["check", *PAIR, "--quick"], "-o", "isomorph.report/1", "EQUIVALENT on 1 generated input"),
        (["prove", *PAIR], "-o", "isomorph.proof/1", "EQUIVALENT for every input"),
        (["ranges", "a.onnx", "--range=-1:1", "--in-process"], "-o", "isomorph.ranges/1", ""),
        (["lint", "a.onnx"], "-o", "isomorph.lint/1", ""),
        (["inspect", "a.onnx", "--in-process"], "-o", None, ""),
        (["diff", *PAIR], "-o", "isomorph.diff/1", ""),
        (["doctor"], "-o", None, ""),
        (["fix", *PAIR], "--report", "isomorph.repair/1", "EQUIVALENT"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_a_json_file_is_json(words, option, schema, line, tmp_path, capsys):
    target = tmp_path / "out.json"
    assert main([*words, option, "out.json"]) in {0, 1, 3}
    document = json.loads(target.read_text(encoding="utf-8"))
    assert schema is None or document["schema"] == schema
    shown = capsys.readouterr().out
    assert shown.startswith(line)
    assert shown.splitlines()[-1] == "written to out.json"
    # A verdict may take two lines, and a blank one follows.
    assert len(shown.splitlines()) <= 4, "the document is in the file, and not on the terminal"


@pytest.mark.parametrize(
    ("words", "name", "start"),
    [
        (["lint", "a.onnx"], "remarks.sarif", '{\n  "$schema"'),
        (["prove", *PAIR], "proof.html", "<!doctype html>"),
        (["check", *PAIR, "--quick"], "summary.md", "## "),
        (["inspect", "a.onnx", "--in-process"], "model.txt", "a.onnx: onnx model"),
    ],
)
def test_each_suffix_has_its_format(words, name, start, tmp_path):
    assert main([*words, "-o", name]) == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize("command", ["lint", "inspect", "ranges"])
def test_a_format_that_the_command_lacks_is_refused_before_the_work(command, tmp_path, capsys):
    assert main([command, "a.onnx", "-o", "page.html"]) == 2
    assert "'page.html' looks like html" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_several_pairs_make_no_folder_that_is_called_like_a_file(tmp_path, capsys):
    pair = '[pairs.{}]\nreference = "a.onnx"\ncandidate = "same.onnx"\n'
    (tmp_path / "isomorph.toml").write_text(pair.format("one") + pair.format("two"))
    for name in ("all.html", "all.json", "all.txt", "all.md"):
        assert main(["check", "-o", name]) == 2
        assert "looks like one file" in capsys.readouterr().err
        assert not (tmp_path / name).exists()


def test_one_named_pair_goes_into_the_file(tmp_path, capsys):
    pair = '[pairs.{}]\nreference = "a.onnx"\ncandidate = "same.onnx"\nquick = true\n'
    (tmp_path / "isomorph.toml").write_text(pair.format("one") + pair.format("two"))
    assert main(["check", "one", "-o", "one.html", "--in-process"]) == 0
    assert (tmp_path / "one.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    shown = capsys.readouterr().out
    assert "one: EQUIVALENT" in shown
    assert shown.endswith("written to one.html\n")

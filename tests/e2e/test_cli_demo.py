"""The demo, as a newcomer would run it."""

import json
import subprocess
import sys

import pytest

from isomorph.__main__ import main


def test_the_demo_gives_the_right_answers(tmp_path):
    pytest.importorskip("torch")
    line = [sys.executable, "-m", "isomorph", "demo", "--keep", tmp_path / "kept"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.index("EQUIVALENT") < done.stdout.index("DIVERGENT")
    assert "Traceback" not in done.stderr
    verdicts = {
        name: json.loads((tmp_path / "kept" / f"{name}.json").read_text())["verdict"]
        for name in ("faithful", "altered")
    }
    assert verdicts == {"faithful": "equivalent", "altered": "divergent"}
    page = tmp_path / "kept" / "altered.html"
    assert str(page) in done.stdout
    assert '"graphs":[{' in page.read_text(encoding="utf-8"), "the page has no profile to draw"


def test_the_demo_does_not_write_into_a_folder_that_exists(tmp_path):
    line = [sys.executable, "-m", "isomorph", "demo", "--keep", tmp_path]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "error[OUTPUT_EXISTS]" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_demo_with_onnx_alone_finds_the_folded_epsilon(tmp_path, capsys):
    kept = tmp_path / "kept"
    assert main(["demo", "--onnx", "--keep", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert shown.index("EQUIVALENT") < shown.index("DIVERGENT")
    assert "np.allclose(rtol=0.001) sees nothing" in shown
    findings = json.loads((kept / "altered.json").read_text())["findings"]
    assert (findings[0]["node"], findings[0]["cause"]) == ("block3.first", "weight")
    assert '"graphs":[{' in (kept / "altered.html").read_text(encoding="utf-8")


def test_the_two_exports_differ_in_one_attribute(tmp_path):
    pytest.importorskip("torch")
    import onnx

    from isomorph.frameworks.pytorch.demo import write_demo

    files = write_demo(tmp_path)
    right, wrong = onnx.load(files.faithful), onnx.load(files.altered)
    changed = [
        (ref.name, ref.op_type)
        for ref, cand in zip(right.graph.node, wrong.graph.node, strict=True)
        if ref != cand
    ]
    assert changed == [(files.node, "BatchNormalization")]
    assert right.graph.initializer == wrong.graph.initializer

"""From one model to its target: hops proven, wrong results found, quantization judged."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import isomorph
from isomorph import api
from isomorph.__main__ import main
from isomorph.conversion.converter_worker import ConverterWorker
from isomorph.core.conversion import Order, Step
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.lint import Severity

SCRIPT = Path(__file__).with_name("conversion_models.py")
LOST_BIASES = Path(__file__).parents[1] / "faults" / "lost_biases" / "lstm.tflite"


@pytest.fixture(scope="session")
def models(request):
    """Made once, in a process of its own, and kept between runs."""
    recipe = hashlib.sha256(SCRIPT.read_bytes()).hexdigest()[:16]
    folder = request.config.cache.mkdir("conversion-models") / recipe
    if not folder.exists():
        made = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
        try:
            ran = subprocess.run(
                [sys.executable, "-W", "ignore", str(SCRIPT), str(made)], capture_output=True,
                text=True, check=False, timeout=600, env=os.environ,
            )  # fmt: skip
            assert ran.returncode == 0, ran.stderr[-3000:]
            # Another process may have been faster: its folder is as good as ours.
            if not folder.exists():
                made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return folder


def test_the_chain_of_three_in_one_command(models, tmp_path, capsys):
    target = tmp_path / "cnn.tflite"
    words = ["convert", str(models / "cnn.pt2"), str(target), "--via", "onnx,tensorflow"]
    assert main([*words, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert target.is_file()
    assert report["verdict"] == "equivalent"
    hops = [(hop["step"]["source"], hop["step"]["target"]) for hop in report["chosen"]]
    assert hops == [("pytorch", "onnx"), ("onnx", "tensorflow"), ("tensorflow", "tflite")]
    for hop in report["chosen"]:
        # Each hop is held against the first model, and its translation error is there to see.
        assert hop["report"]["models"][0]["framework"] == "pytorch"
        assert hop["report"]["outputs"][0]["translation"]["distance"]["max_abs"] < 1e-6
    assert any(
        "the converter wrote to its input file" in note for note in report["chosen"][1]["notes"]
    )
    assert "gradients and training mode" in report["chosen"][0]["lost"]
    assert json.loads((tmp_path / "cnn.tflite.report.json").read_text()) == report
    assert report["repeat"].startswith("isomorph convert ")


@pytest.mark.parametrize("name", ["lstm", "encoder"])
def test_the_same_chain_for_sequences(models, tmp_path, name):
    done = api.convert(models / f"{name}.pt2", tmp_path / "out.tflite", via=("onnx", "tensorflow"))
    assert done.verdict is Verdict.EQUIVALENT
    assert [hop.status for hop in done.chosen] == ["proven"] * 3


def test_axes_of_equal_size_that_onnx2tf_mixes_up(models, tmp_path):
    found = api.lint(models / "equal.pt2", to="tensorflow")
    assert "ISO113" in {remark.code for remark in found.remarks}
    via = ("pytorch_to_onnx", "onnx_to_tensorflow")
    done = api.convert(models / "equal.pt2", tmp_path / "out", via=via)
    assert done.verdict is Verdict.DIVERGENT
    assert [hop.status for hop in done.chosen] == ["proven", "divergent"]
    assert done.chosen[1].report.findings[0].code == "GUILTY_NODE"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("source", "converter", "target"),
    [
        ("cnn.pt2", "pytorch_to_onnx_legacy", "out.onnx"),
        ("cnn.pt2", "pytorch_to_tflite", "out.tflite"),
        ("cnn.pt2", "pytorch_to_openvino", "out.xml"),
        ("cnn.onnx", "onnx_to_tflite", "out.tflite"),
    ],
)
def test_each_direct_way(models, tmp_path, source, converter, target):
    done = api.convert(models / source, tmp_path / target, via=(converter,))
    assert [hop.step.converter for hop in done.chosen] == [converter]
    assert done.verdict is Verdict.EQUIVALENT


def test_the_exact_gelu_that_tf2onnx_converts_wrongly(models, tmp_path):
    with pytest.raises(IsomorphError):
        isomorph.check(models / "gelu", models / "gelu.onnx")
    done = api.convert(models / "gelu", tmp_path / "gelu.onnx")
    assert done.verdict is Verdict.EQUIVALENT
    assert any("Erfc" in note for note in done.chosen[0].notes)


def test_variables_that_are_not_frozen(models):
    report = isomorph.check(models / "dense.keras", models / "dense.tflite")
    assert report.exit_code != 0


@pytest.mark.parametrize("name", ["turned", "turned/cnn_copy_float32.tflite"])
def test_axes_that_onnx2tf_turns_unasked(models, name):
    report = isomorph.check(models / "cnn.onnx", models / name)
    turned = next(each for each in report.findings if each.code == "INPUT_LAYOUT")
    assert turned.cause == "interface"
    assert "(0, 2, 3, 1)" in turned.summary


def test_names_on_which_onnx2tf_writes_nothing(models, tmp_path):
    done = api.convert(models / "underscored.onnx", tmp_path / "out")
    (hop,) = done.chosen
    assert (hop.status, [workaround.name for workaround in hop.workarounds]) == (
        "proven",
        ["plain names"],
    )
    assert any("'_x'" in lost and "'t_x'" in lost for lost in hop.lost)


def test_a_recurrent_saved_model_gets_a_fixed_batch(models, tmp_path):
    done = api.convert(models / "lstm", tmp_path / "lstm.tflite")
    (hop,) = done.chosen
    assert (hop.status, [workaround.name for workaround in hop.workarounds]) == (
        "proven",
        ["fixed batch"],
    )
    assert any("axis 0 is 1 now" in lost for lost in hop.lost)


def test_a_python_if_that_tracing_bakes_in(models, monkeypatch):
    monkeypatch.chdir(models)
    found = api.lint("branchy:make", to="onnx", trust=True)
    (error,) = [each for each in found.remarks if each.severity is Severity.ERROR]
    assert error.code == "ISO107"
    assert error.source.file.endswith("branchy.py")
    assert error.source.line == 7
    report = isomorph.check("branchy:make", models / "branchy.onnx", trust=True)
    assert report.verdict is Verdict.DIVERGENT


def test_a_recurrent_network_in_int8_kills_the_converter_and_nobody_else(models):
    from numpy import savez, zeros

    converter_worker = ConverterWorker()
    try:
        sample = converter_worker.folder("sample") / "x.npz"
        savez(sample, x=zeros((1, 4, 3), "float32"))
        order = Order(
            source="",
            target="",
            example=str(sample),
            samples=(str(sample),),
            width="int8",
            options={"batch": "1"},
        )
        step = Step(
            converter="tensorflow_to_tflite", source="tensorflow", target="tflite", width="int8"
        )
        attempt = converter_worker.make(step, str(models / "lstm.keras"), order, "lstm.tflite")
    finally:
        converter_worker.close()
    assert attempt.trouble is not None
    assert attempt.trouble.code in {"RUNTIME_CRASHED", "CONVERTER_FAILED"}


@pytest.mark.skipif(not LOST_BIASES.is_file(), reason="the file is made by another test's script")
def test_biases_that_tf2onnx_drops(tmp_path):
    done = api.convert(LOST_BIASES, tmp_path / "lstm.onnx")
    assert done.exit_code != 0
    assert not (tmp_path / "lstm.onnx").exists()
    assert done.chosen[0].status in {"failed", "divergent"}


def test_int8_is_degraded_and_audited(models, tmp_path):
    done = api.convert(
        models / "cnn.keras", tmp_path / "cnn.tflite", quantize="int8", data=models / "good"
    )
    assert done.verdict is Verdict.DEGRADED
    report = done.chosen[-1].report
    assert len(report.quantization) > 5
    assert report.outputs[0].intended_loss.budget.ratio < 1


def test_one_outlier_in_the_calibration_is_found(models, tmp_path):
    done = api.convert(
        models / "cnn.keras",
        tmp_path / "cnn.tflite",
        quantize="int8",
        data=models / "bad",
        via=("tensorflow_to_tflite",),
        keep=True,
    )
    # The outlier is among the samples of that proof; on honest ones the loss shows.
    assert done.output is not None
    report = isomorph.check(models / "cnn.keras", done.output, data=models / "good")
    assert report.verdict is Verdict.DIVERGENT
    assert report.findings[0].cause == "quantization"

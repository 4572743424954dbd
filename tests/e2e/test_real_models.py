"""Conversions that others made and published get the right verdict, with no option but inputs.

The packages are only carriers of model files: they are found by their metadata and never imported.
`make` installs them without what they require.
"""

from importlib.metadata import PackageNotFoundError, files

import numpy as np
import pytest

import isomorph

PITCH = "basic_pitch/saved_models/icassp_2022/"
WORDS = "openwakeword/resources/models/"


def carried(package, path):
    """The file or folder of an installed package, whose packages are not imported for it."""
    try:
        listed = files(package) or []
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed; its models are read by 'make test' alone")
    for entry in listed:
        if str(entry) == path or str(entry).startswith(f"{path}/"):
            found = entry.locate()
            return next(one for one in (found, *found.parents) if str(one).endswith(path))
    pytest.fail(f"{package} is installed without {path}")


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    # Two test processes share the cores; products of many threads would wait for one another.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def audio():
    """Two seconds at 22,050 Hz, one sample: two notes that fade, and a little noise."""
    time = np.arange(43_844) / 22_050
    tones = [np.sin(2 * np.pi * pitch * time) for pitch in (261.63, 440.0)]
    noise = np.random.default_rng(0).normal(scale=0.01, size=time.size)
    wave = sum(tones) * 0.3 * np.exp(-time) + noise
    return wave.astype(np.float32).reshape(1, -1, 1)


@pytest.mark.parametrize(
    ("reference", "candidate", "name"),
    [
        ("nmp", "nmp.onnx", "input_2"),
        ("nmp.onnx", "nmp.tflite", "serving_default_input_2:0"),
    ],
    ids=["tensorflow-onnx", "onnx-tflite"],
)
def test_basic_pitch_is_one_function_in_three_frameworks(reference, candidate, name, audio):
    models = [carried("basic-pitch", PITCH + file) for file in (reference, candidate)]
    report = isomorph.check(*models, inputs={name: audio})
    assert (report.verdict, report.exit_code) == ("equivalent", 0), report.reason
    assert [output.verdict for output in report.outputs] == ["equivalent"] * 3


@pytest.mark.parametrize("word", ["alexa", "hey_jarvis", "hey_mycroft", "timer", "weather"])
def test_openwakeword_is_the_same_in_onnx_and_tflite(word):
    report = isomorph.check(*_wake_word(word))
    assert (report.verdict, report.exit_code) == ("equivalent", 0), report.reason
    assert report.outputs


def test_openwakeword_published_two_networks_under_one_name():
    report = isomorph.check(*_wake_word("hey_rhasspy"))
    assert (report.verdict, report.exit_code) == ("divergent", 1), report.reason
    first = report.findings[0]
    assert first.code == "DIFFERENT_NETWORKS"
    assert "size 32" in first.summary
    assert "size 64" in first.summary
    assert not [finding for finding in report.findings if finding.node], "no node is named"


def _wake_word(word):
    return [carried("openwakeword", f"{WORDS}{word}_v0.1.{end}") for end in ("onnx", "tflite")]


def test_fer_is_degraded_by_its_int8_weights_and_no_further():
    reference = carried("fer", "fer/data/emotion_model.hdf5")
    candidate = carried("fer", "fer/data/emotion_model_quantized.tflite")
    report = isomorph.check(reference, candidate)
    assert (report.verdict, report.exit_code) == ("degraded", 0), report.reason
    (output,) = report.outputs
    assert output.intended_loss.budget.ratio <= 1.0


def test_pymicro_wakeword_runs_as_its_own_float64_oracle():
    """Int8 with resource variables; almost silence, at which the answer is not yet zero."""
    model = carried("pymicro-wakeword", "pymicro_wakeword/models/hey_mycroft.tflite")
    frames = np.random.default_rng(0).integers(-128, -112, size=(1, 3, 40), dtype=np.int8)
    (name,) = (tensor.name for tensor in isomorph.inspect(model).graph.inputs)
    (answer,) = isomorph.run(model, inputs={name: frames}).tensors.values()
    assert np.any(answer), "zeros would be compared with zeros"
    report = isomorph.check(model, inputs={name: frames})
    assert (report.verdict, report.exit_code) == ("equivalent", 0), report.reason
    assert [output.observed.distance.compared for output in report.outputs] == [answer.size]

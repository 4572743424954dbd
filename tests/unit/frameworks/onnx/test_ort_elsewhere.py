"""ONNX Runtime by way of another process gives what the package gives, for every kind of value."""

import json

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import parser

from isomorph.core.errors import IsomorphError, RuntimeFailedError
from isomorph.core.trace import Environment
from isomorph.frameworks.onnx.ort_elsewhere import OrtElsewhere
from isomorph.frameworks.onnx.ort_file import OrtFileFramework, OrtFileRuntime
from isomorph.frameworks.onnx.runtime import OnnxRuntime
from isomorph.registry import framework
from isomorph.sessions.error_codec import guard

HEAD = '<ir_version: 9, opset_import: ["": 17]>'


class Here:
    """What opens sessions elsewhere, in this process: errors and settings travel as they do."""

    def __init__(self):
        self.opened = []

    def open(self, source, *, extensions, settings):
        assert all(":" in extensions[word] for word in ("framework", "runtime"))
        json.dumps(dict(settings))  # they are JSON on their way
        self.opened.append(source)
        asked = Environment(runtime="onnx_file", settings=settings)
        with guard("opening"):
            model = OrtFileFramework().load(source, {})
            return Guarded(OrtFileRuntime().open(model, asked))


class Guarded:
    """A session whose errors are those of a worker."""

    def __init__(self, session):
        self.session, self.environment = session, session.environment

    def run(self, feeds, fetch):
        with guard("running"):
            return self.session.run(feeds, fetch)

    def close(self):
        self.session.close()


@pytest.fixture
def opened(tmp_path):
    def open_both(text, settings=None):
        path = tmp_path / "model.onnx"
        onnx.save(parser.parse_model(HEAD + text), path)
        model = framework("onnx").load(str(path), {})
        runtime, elsewhere = OnnxRuntime(), Here()
        asked = Environment(
            runtime="onnxruntime", settings={**runtime.settings, **(settings or {})}
        )
        session = runtime.open_elsewhere(model, asked, elsewhere)
        return runtime.open(model, asked), session, elsewhere

    return open_both


def same(left, right):
    assert left.keys() == right.keys()
    for name, value in left.items():
        if isinstance(value, list):
            assert all(map(np.array_equal, value, right[name]))
        else:
            assert value.dtype == right[name].dtype
            np.testing.assert_array_equal(value, right[name])


def test_outputs_and_inner_tensors_are_the_same(opened):
    here, elsewhere, _ = opened(
        "net (float[2,3] x) => (float[2,3] y) { a = Exp (x)  b = Neg (a)  y = Tanh (b) }"
    )
    feeds = {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)}
    same(here.run(feeds, ["y"]), elsewhere.run(feeds, ["y"]))
    same(here.run(feeds, ["a", "b", "y"]), elsewhere.run(feeds, ["a", "b", "y"]))
    fed = {"b": feeds["x"]}
    same(here.run(fed, ["y"]), elsewhere.run(fed, ["y"]))


def test_types_that_numpy_lacks_travel_as_their_bytes(opened):
    here, elsewhere, _ = opened(
        "net (float[5] x, bfloat16[5] w) => (bfloat16[5] y, float[5] z)"
        "{ y = Cast <to = 16> (x)  z = Cast <to = 1> (w) }"
    )
    feeds = {
        "x": np.linspace(-3, 3, 5, dtype=np.float32),
        "w": np.arange(5).astype(ml_dtypes.bfloat16),
    }
    found = elsewhere.run(feeds, ["y", "z"])
    assert found["y"].dtype == ml_dtypes.bfloat16
    same(here.run(feeds, ["y", "z"]), found)


def test_sequences_come_back_as_lists(opened):
    here, elsewhere, _ = opened(
        "net (float[4] x) => (seq(float[2]) y) <int64 two = {2}> "
        "{ y = SplitToSequence <axis = 0> (x, two) }"
    )
    feeds = {"x": np.arange(4, dtype=np.float32)}
    same(here.run(feeds, ["y"]), elsewhere.run(feeds, ["y"]))


def test_the_environment_states_what_is_in_use_there(opened):
    here, elsewhere, _ = opened("net (float[2] x) => (float[2] y) { y = Exp (x) }")
    assert elsewhere.environment.version == here.environment.version
    assert elsewhere.environment.facts == here.environment.facts


def test_optimizers_are_listed_and_logged_there(opened):
    text = "net (float[2] x) => (float[2] y) { a = Identity (x)  b = Identity (a)  y = Exp (b) }"
    here, elsewhere, _ = opened(text, {"name_optimizers": "yes"})
    assert "EliminateIdentity" in elsewhere.environment.facts["optimizers that ran"]
    assert elsewhere.environment.facts == here.environment.facts


def test_a_refusal_is_that_of_the_package(opened):
    with pytest.raises(RuntimeFailedError) as caught:
        opened(
            "net (float[2] x) => (float[2] y) { y = Exp (x) }",
            {
                "disable_optimizers": "a",
            },
        )[1].run({"x": np.zeros(3, np.float32)}, ["y"])
    assert caught.value.code == "RUNTIME_FAILED"
    assert "Got: 3 Expected: 2" in caught.value.why


def test_a_process_that_died_is_no_refusal_of_the_model(opened):
    _, elsewhere, _ = opened("net (float[2] x) => (float[2] y) { y = Exp (x) }")

    def died(feeds, fetch):
        raise RuntimeFailedError("RUNTIME_CRASHED", "the worker died")

    elsewhere._deployed.session._session.run = died
    with pytest.raises(IsomorphError) as caught:
        elsewhere.run({"x": np.zeros(2, np.float32)}, ["y"])
    assert caught.value.code == "RUNTIME_CRASHED"


def test_cut_models_are_removed_with_their_session(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _, session, here = opened("net (float[2] x) => (float[2] y) { a = Exp (x)  y = Neg (a) }")
    session.run({"x": np.zeros(2, np.float32)}, ["a"])
    assert list(tmp_path.glob("cut-*"))
    session.close()
    assert not list(tmp_path.glob("cut-*"))
    assert here.opened[0] == ""


def test_a_level_that_the_release_lacks_is_named():
    class Old(Here):
        def open(self, source, *, extensions, settings):
            session = super().open(source, extensions=extensions, settings=settings)
            session.environment.facts["levels"] = '["ORT_ENABLE_ALL"]'
            return session

    from isomorph.core.errors import UsageError
    from isomorph.frameworks.onnx.ort_settings import session_options, settings_of

    ort = OrtElsewhere(Old())
    with pytest.raises(UsageError, match="no optimization level 'layout'"):
        session_options(ort, settings_of({"optimization": "layout"}, None, ort))

"""``isomorph check --decode`` as it is typed: text, JSON, and errors that say what to state."""

import json

import jsonschema
import numpy as np
import pytest

from isomorph.reporters.json import schema
from onnx_decoders import Faults, buffer_decoder, rotary_decoder
from warm_process import isomorph


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("decoders")
    rotary_decoder(made / "a.onnx")
    rotary_decoder(made / "wrong.onnx", Faults(new_first=True))
    buffer_decoder(made / "buffer.onnx")
    np.save(made / "prompt.npy", np.array([[5, 6, 7]]))
    return made


def test_a_fault_in_a_cache_is_on_the_screen(folder):
    done = isomorph(
        folder, "check", "a.onnx", "wrong.onnx", "--decode", "1", "--inputs", "prompt.npy"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    assert "a prompt of 3 tokens on empty caches, then 1 step" in text
    assert "the first that is wrong: layer 1 key (present.1.key), at step 1" in text


def test_the_json_has_every_step(folder):
    done = isomorph(
        folder, "check", "a.onnx", "a.onnx", "--decode", "2", "--no-locate", "--format", "json"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    jsonschema.validate(report, schema())
    assert [step["number"] for step in report["decoding"]["steps"]] == [0, 1, 2]
    assert report["request"]["decode"] == 2
    assert report["coverage"]["decoded"] == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("a.onnx", "a.onnx", "--cache", "x=y"), "BAD_OPTION"),
        (("a.onnx", "--decode", "1"), "BAD_OPTION"),
        (("a.onnx", "a.onnx", "--decode", "1", "--data", "prompt.npy"), "BAD_OPTION"),
        (("a.onnx", "a.onnx", "--decode", "1", "--cache", "x=y"), "UNKNOWN_NAME"),
        (("a.onnx", "buffer.onnx", "--decode", "1"), "CACHE_NOT_RECOGNIZED"),
    ],
)
def test_what_cannot_be_decoded_is_an_error(folder, words, code):
    done = isomorph(folder, "check", *words)
    assert done.returncode == 2
    assert f"error[{code}]" in done.stderr

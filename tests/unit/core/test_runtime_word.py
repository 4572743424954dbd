"""A runtime is named with the place of its environment, and a file that does so needs trust."""

import pytest

from isomorph.core.errors import RefusedError, UsageError
from isomorph.core.runtime_word import names_environment, require_trust, split_word


def test_a_name_has_no_place():
    assert split_word("onnxruntime") == ("onnxruntime", "")


def test_the_first_mark_ends_the_name():
    assert split_word("onnxruntime@/envs/a@b") == ("onnxruntime", "/envs/a@b")


@pytest.mark.parametrize("word", ["onnxruntime@", "@/envs/a", ""])
def test_half_a_word_is_refused(word):
    with pytest.raises(UsageError, match="cannot be read") as caught:
        split_word(word)
    assert caught.value.code == "BAD_OPTION"


@pytest.mark.parametrize(
    ("runtime", "names"),
    [
        (None, False),
        ("onnxruntime", False),
        ("onnxruntime@/envs/a", True),
        ({"candidate": "openvino"}, False),
        ({"reference": "openvino", "candidate": "onnxruntime@/envs/a"}, True),
    ],
)
def test_every_side_is_looked_at(runtime, names):
    assert names_environment(runtime) is names


def test_a_file_that_names_an_interpreter_needs_trust():
    options = {"runtime": {"candidate": "onnxruntime@./planted"}}
    with pytest.raises(RefusedError) as caught:
        require_trust(options, file="isomorph.toml", where="pairs.a")
    assert caught.value.code == "INTERPRETER_NEEDS_TRUST"
    assert caught.value.exit_code == 4
    require_trust({**options, "trust": True}, file="isomorph.toml", where="pairs.a")
    require_trust({"runtime": "openvino"}, file="isomorph.toml", where="pairs.a")


@pytest.mark.parametrize("key", ["custom_ops", "candidate.custom_ops"])
def test_a_file_that_names_a_library_needs_trust(key):
    options = {"settings": {key: "./planted.so", "optimization": "none"}}
    with pytest.raises(RefusedError) as caught:
        require_trust(options, file="sweep.toml", where="m@e")
    assert caught.value.code == "LIBRARY_NEEDS_TRUST"
    assert caught.value.exit_code == 4
    require_trust({**options, "trust": True}, file="sweep.toml", where="m@e")
    require_trust({"settings": {"custom_ops": ""}}, file="sweep.toml", where="m@e")

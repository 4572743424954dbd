"""A runtime is named with the place of its environment."""

import pytest

from isomorph.core.errors import UsageError
from isomorph.core.runtime_word import names_environment, split_word


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

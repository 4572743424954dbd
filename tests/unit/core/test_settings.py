import pytest

from isomorph.core.errors import UsageError
from isomorph.core.settings import chosen, thread_count


def test_one_of_the_known_values():
    assert chosen("tflite", {"xnnpack": "off"}, "xnnpack", ("on", "off")) == "off"
    with pytest.raises(UsageError) as caught:
        chosen("tflite", {"xnnpack": "of"}, "xnnpack", ("on", "off"))
    assert caught.value.code == "BAD_SETTING"
    assert caught.value.what == "runtime 'tflite' has no value 'of' for xnnpack"
    assert (caught.value.why, caught.value.fix) == ("known: on, off", "did you mean 'off'?")


def test_a_number_of_threads():
    assert (thread_count(""), thread_count("3")) == (None, 3)
    for word in ("0", "-1", "many", "²"):
        with pytest.raises(UsageError, match="not a whole number"):
            thread_count(word)

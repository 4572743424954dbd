"""A setting that a runtime does not have: the error names the one that was meant."""

import pytest

from isomorph.core.errors import UsageError
from isomorph.sessions.model_handle import completed


@pytest.mark.parametrize(
    ("runtime", "key", "fix"),
    [
        ("onnxruntime", "opitmization", "--set optimization=…"),
        ("tflite", "opitmization", "did you mean 'optimization', a setting of"),
        ("tflite", "providers", "leave it out for this side"),
        ("tflite", "zzzz", "name one of these"),
    ],
)
def test_a_misspelt_setting_is_answered_with_the_one_that_was_meant(runtime, key, fix):
    with pytest.raises(UsageError, match=f"has no setting '{key}'") as raised:
        completed(runtime, {key: "all"})
    assert raised.value.code == "UNKNOWN_SETTING"
    assert raised.value.fix.startswith(fix)


def test_known_settings_are_completed_with_the_defaults():
    assert completed("onnxruntime", {"optimization": "none"})["optimization"] == "none"
    assert "providers" in completed("onnxruntime", {})

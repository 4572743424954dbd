"""What the user allows and adds."""

import pytest

from isomorph.api.environment import load_options
from isomorph.core.errors import UsageError


def test_a_state_is_for_factories():
    stated = load_options("package.module:factory", "m.onnx", trust=True, state="w.safetensors")
    assert stated["state"] == "w.safetensors"


@pytest.mark.parametrize("sources", [("m.onnx",), ("m.pt2", "m.onnx"), (object(),)])
def test_a_state_that_nobody_would_load_is_refused(sources):
    with pytest.raises(UsageError) as caught:
        load_options(*sources, trust=True, state="w.safetensors")
    assert caught.value.code == "BAD_OPTION"

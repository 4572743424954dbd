"""What tf2onnx only logs is an error all the same."""

import logging

import pytest

from isomorph.converters._tf2onnx import failing_loudly
from isomorph.core.converter_abilities import WITHOUT_PASSES
from isomorph.core.errors import RuntimeFailedError


def test_a_logged_error_is_raised():
    with pytest.raises(RuntimeFailedError) as caught, failing_loudly():
        logging.getLogger("tf2onnx.tfonnx").error("Tensorflow op [%s] is not supported", "Erfc")
    assert "Erfc" in caught.value.why


def test_a_warning_is_none():
    with failing_loudly():
        logging.getLogger("tf2onnx.tfonnx").warning("a word of caution")


def test_its_own_exception_comes_through():
    def fails():
        logging.getLogger("tf2onnx.tfonnx").error("logged before it failed")
        raise KeyError("x")

    with pytest.raises(KeyError), failing_loudly():
        fails()


def test_optimizers_are_left_out_for_one_conversion():
    from tf2onnx import optimizer

    from isomorph.converters._tf2onnx import leaving_out, optimizers

    before = optimizers()
    assert {"fold_constants", "optimize_transpose"} <= set(before)
    with leaving_out({WITHOUT_PASSES: "fold_constants\noptimize_transpose"}):
        assert list(optimizer._get_optimizers()) == [
            name for name in before if name not in {"fold_constants", "optimize_transpose"}
        ]
    assert optimizers() == before

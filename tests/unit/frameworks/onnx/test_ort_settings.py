"""The options of an ONNX Runtime session."""

import onnxruntime
import pytest

from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.ort_settings import session_options, settings_of


def test_threads_that_wait_do_not_take_the_time_of_others():
    options = session_options(onnxruntime, settings_of({}, None, onnxruntime))
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


@pytest.mark.parametrize("level", ["0", "4"])
def test_the_accuracy_level_of_fused_products_is_handed_on(level):
    words = {"qdq_accuracy_level": level}
    options = session_options(onnxruntime, settings_of(words, None, onnxruntime))
    assert options.get_session_config_entry("session.qdq_matmulnbits_accuracy_level") == level


def test_another_accuracy_level_is_refused():
    with pytest.raises(UsageError) as raised:
        settings_of({"qdq_accuracy_level": "5"}, None, onnxruntime)
    assert "5" in str(raised.value)

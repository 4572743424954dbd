"""The options of an ONNX Runtime session."""

import onnxruntime

from isomorph.frameworks.onnx.ort_settings import session_options, settings_of


def test_threads_that_wait_do_not_take_the_time_of_others():
    options = session_options(onnxruntime, settings_of({}, None, onnxruntime))
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"

"""What every test may count on, whoever started them."""

import signal
import sys

import hypothesis
import pytest

# A shell gives what it runs in the background deaf ears for Ctrl-C, nohup for a closed terminal;
# children inherit that, and the tests of interruptions would wait for ever.
for _number, _usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("isomorph", deadline=None)
hypothesis.settings.load_profile("isomorph")


@pytest.fixture(autouse=True)
def _own_process_untouched():
    """Importing onnx2tf seeds TensorFlow, forbids unseeded random operators and lifts the depth.

    A converter has its worker; in this process all tests after it would run in another world.
    """
    yield
    assert "onnx2tf" not in sys.modules, "this test imported onnx2tf: leave that to a worker"

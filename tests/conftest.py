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


@pytest.fixture(scope="session")
def saturates():
    """Whether ONNX Runtime's products of unsigned and signed bytes saturate on this CPU.

    Stated by the CPU's features where they are known, seen in one product where they are not.
    """
    from isomorph.core.cpu import this_cpu
    from isomorph.core.divergence import Judgment

    stated = this_cpu().saturates
    return largest_pair() < 2 * 255 * 127 if stated is Judgment.UNKNOWN else stated == "yes"


def largest_pair():
    """255·127 + 255·127 as ONNX Runtime computes it: 64770, or what 16 bits hold."""
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper

    rows, columns = np.full((1, 2), 255, np.uint8), np.full((2, 1), 127, np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["y"])],
        "pair",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, [1, 2])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [1, 1])],
        [helper.make_tensor("b", TensorProto.INT8, [2, 1], columns.tobytes(), raw=True)],
    )
    opsets = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return int(session.run(None, {"a": rows})[0][0, 0])


@pytest.fixture(name="largest_pair")
def _largest_pair():
    return largest_pair

"""What every test may count on, whoever started them."""

import gc
import os
import random
import signal
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from isomorph.core.collector import collect_seldom
from model_fixtures import converted  # noqa: F401
from quantized_fixture import quantized_networks  # noqa: F401
from ray_cluster_fixture import ray_cluster  # noqa: F401
from strange_fixture import dense, strange  # noqa: F401
from third_party import model_file, toy_plugin  # noqa: F401

TESTS = Path(__file__).parent

# A shell gives what it runs in the background deaf ears for Ctrl-C, nohup for a closed terminal;
# children inherit that, and the tests of interruptions would wait for ever.
for _number, _usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)

# How long an example takes says how busy the machine is. Where the result gates a change, the same
# examples are drawn every time; new ones are for whoever is there to read what they find.
hypothesis.settings.register_profile(
    "isomorph", deadline=None, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("isomorph")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for unused objects less often, and never at those that stay.

    What the test modules import and the tests themselves are a million objects, and a look at all
    of them takes half a second.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        collect_seldom()


# Generators that test modules share, and where each stood before the first test.
_generators = []


def pytest_collection_finish():
    """Note where the generators of all test modules stand."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and TESTS in Path(file).parents:
            _generators.extend(
                (value, value.bit_generator.state)
                for value in vars(module).values()
                if isinstance(value, np.random.Generator)
            )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Give each test the same random numbers, whichever tests ran before it in its process."""
    for generator, state in _generators:
        generator.bit_generator.state = state
    random.seed(0)  # Keras draws the seeds of its initializers here.
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(autouse=True)
def _own_process_untouched():
    """Importing onnx2tf seeds TensorFlow, forbids unseeded random operators and lifts the depth.

    A converter has its worker; in this process all tests after it would run in another world.
    """
    yield
    assert "onnx2tf" not in sys.modules, "this test imported onnx2tf: leave that to a worker"


@pytest.fixture(scope="session", autouse=True)
def _warm_workers(tmp_path_factory):
    """Workers are copies of processes that have imported their frameworks, from the second on."""
    from isomorph.core.system_memory import default_worker_memory
    from isomorph.workers import supervisor
    from warm_workers import WarmLauncher

    usual = supervisor._launcher
    # Processes of xdist have folders of their own in one that they share.
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    started = shared / "started-workers"
    started.mkdir(exist_ok=True)
    launcher = WarmLauncher(usual, default_worker_memory(), started)
    supervisor._launcher = launcher
    yield
    supervisor._launcher = usual
    launcher.close()


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

"""Copies of a process serve as workers that were started do."""

import os
import sys

import numpy as np
import psutil
import pytest
from onnx import TensorProto, helper

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.system_memory import default_worker_memory
from isomorph.core.trace import Environment
from isomorph.sessions.host import Limits
from isomorph.workers import supervisor
from isomorph.workers.worker_host import WorkerHost
from warm_process import COMMAND, ran
from warm_workers import CAN_COPY, WarmLauncher

pytestmark = pytest.mark.skipif(not CAN_COPY, reason="processes are copied on Linux alone")


@pytest.fixture
def _own_launcher(monkeypatch, tmp_path):
    started = tmp_path / "started"
    started.mkdir()
    launcher = WarmLauncher(supervisor._Launcher(), default_worker_memory(), started)
    monkeypatch.setattr(supervisor, "_launcher", launcher)
    yield
    launcher.close()


@pytest.fixture
def model(tmp_path):
    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [shape], [result])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def run(path, limits=None):
    """The output of a run in a new worker, and the words and the parent of its process."""
    with WorkerHost(limits) as host:
        session = host.open(host.load(path, "onnx", {}), Environment(runtime="onnx_oracle"))
        result = session.run({"x": np.array([1.0, -2.0], np.float32)}, ["y"])["y"]
        process = psutil.Process(session._slot.process.pid)
        return result.tolist(), " ".join(process.cmdline()), process.ppid()


@pytest.mark.usefixtures("_own_launcher")
def test_workers_from_the_second_on_are_copies_and_our_children(model):
    results, words, parents = zip(*(run(model) for _ in range(3)), strict=True)
    assert results == ([-1.0, 2.0],) * 3
    assert ["warm_workers.py" in each for each in words] == [False, True, True]
    assert parents == (os.getpid(),) * 3


def test_a_kind_is_started_once_in_all_processes_of_a_run(tmp_path):
    launchers = [WarmLauncher(supervisor._Launcher(), 1, tmp_path) for _ in range(2)]
    first, second = (
        launchers[place]._is_first("onnx", (("HOME", "/"), ("PYTEST_XDIST_WORKER", f"gw{place}")))
        for place in range(2)
    )
    assert (first, second) == (True, False)
    assert launchers[1]._is_first("onnx", (("ISOMORPH_SOMETHING", "else"),))


@pytest.mark.usefixtures("_own_launcher")
def test_a_worker_with_a_limit_or_a_variable_of_its_own_is_started(model, monkeypatch):
    for _ in range(2):
        run(model)
    assert "warm_workers.py" not in run(model, Limits(memory_bytes=1 << 30))[1]
    monkeypatch.setenv("ISOMORPH_SOMETHING", "else")
    assert "warm_workers.py" not in run(model)[1]


@pytest.mark.usefixtures("_own_launcher")
def test_the_end_of_a_copy_is_seen(model):
    run(model)
    with WorkerHost() as host:
        session = host.open(host.load(model, "onnx", {}), Environment(runtime="onnx_oracle"))
        process = session._slot.process
        os.kill(process.pid, 9)
        with pytest.raises(RuntimeFailedError, match="SIGKILL"):
            process.exchange({"command": "ping"}, doing="a test", seconds=60.0)


COMMAND_THAT_TELLS = """
import sys
from isomorph.__main__ import main
from isomorph.workers import supervisor

usual = supervisor._launcher.start

def start(words, **options):
    process = usual(words, **options)
    print("worker:", type(process).__name__)
    return process

supervisor._launcher.start = start
sys.argv = ["isomorph", "check", "m.onnx", "m.onnx"]
sys.exit(main())
"""


def test_workers_of_a_forked_command_are_copies(model):
    script = model.with_name("command.py")
    script.write_text(COMMAND_THAT_TELLS)
    for _ in range(2):
        done = ran([sys.executable, str(script)], model.parent, preload=COMMAND)
        assert done.returncode == 0, done.stderr
    # The first command noted what it wanted.
    workers = {each for each in done.stdout.splitlines() if each.startswith("worker:")}
    assert workers == {"worker: _Copy"}

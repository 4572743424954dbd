"""A real cluster of Ray on this machine: answers, lost processes, interruptions."""

import os
import signal
import socket
import sys
import threading
import time

import psutil
import pytest
from onnx import parser

from isomorph.core.errors import MissingDependencyError, UsageError
from isomorph.core.sweep import Cell
from isomorph.sweeping.cell_keys import versions
from isomorph.sweeping.ray_cluster import Lost, Needs, RayCluster
from isomorph.sweeping.ray_engine import RayEngine
from isomorph.sweeping.remote_cell import Order
from isomorph.sweeping.task import Task

NEEDS = Needs(cpus=1.0, memory=1 << 20, gpus=0)
MODEL = '<ir_version: 9, opset_import: ["": 17]> net (float[4] x) => (float[4] y) { y = Tanh (x) }'


def order(path="absent.onnx"):
    cell = Cell(model="m", environment="e", shard="", seed=0, reference=str(path),
                candidate=str(path), options={"quick": True})  # fmt: skip
    return Order(cell=cell, files={}, versions=versions())


def wait_for(cluster, reference, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not cluster.ended([reference], 1.0):
        assert time.monotonic() < deadline


@pytest.fixture
def runs(ray_cluster, monkeypatch):
    """Let tasks run a function of this module, which processes of the cluster cannot import."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

    def replaced(function):
        monkeypatch.setattr(ray_cluster, "_remote", ray.remote(max_retries=0)(function))
        return ray_cluster

    yield replaced
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_a_cell_that_ran_in_a_task_brings_its_report(ray_cluster, tmp_path):
    model = tmp_path / "net.onnx"
    model.write_bytes(parser.parse_model(MODEL).SerializeToString())
    task = Task(key="k", words=(), folder=tmp_path, need_bytes=1 << 20,
                report=tmp_path / "k.json", cell=order(model).cell)  # fmt: skip
    engine = RayEngine(cluster=ray_cluster, versions=versions())
    ((ended_task, ended),) = engine.run([task])
    assert (ended_task, ended.exit_code) == (task, 0), ended.stderr
    assert b'"verdict": "equivalent"' in task.report.read_bytes()
    assert ended.cpu_seconds > 0


def die(_order):
    os.kill(os.getpid(), signal.SIGKILL)


def fail(_order):
    raise OSError("no room on this machine")


def test_a_process_that_was_killed_is_lost(runs):
    cluster = runs(die)
    reference = cluster.submit(order(), NEEDS)
    wait_for(cluster, reference)
    with pytest.raises(Lost, match="died unexpectedly"):
        cluster.answer(reference)


def test_a_machine_that_cannot_run_cells_is_named_and_not_asked_again(runs):
    cluster = runs(fail)
    reference = cluster.submit(order(), NEEDS)
    wait_for(cluster, reference)
    ended = cluster.answer(reference).ended
    assert ended.exit_code == 2
    assert ended.stderr.startswith("error[MACHINE_UNUSABLE]")
    assert "OSError: no room on this machine" in ended.stderr


def test_a_task_that_is_canceled_ends_its_cell(ray_cluster, tmp_path):
    os.mkfifo(tmp_path / "waits.onnx")  # a model that is never read to its end
    reference = ray_cluster.submit(order(tmp_path / "waits.onnx"), NEEDS)

    def cells():
        return [
            each for each in psutil.process_iter(["cmdline"])
            if str(tmp_path / "waits.onnx") in (each.info["cmdline"] or ())
        ]  # fmt: skip

    deadline = time.monotonic() + 60
    while not cells():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    ray_cluster.cancel([reference], 30.0)
    gone, alive = psutil.wait_procs(cells(), timeout=30)
    assert not alive, gone


def test_the_object_store_holds_bytes(ray_cluster):
    import ray

    assert ray.get(ray_cluster.put(b"part of a model")) == b"part of a model"
    assert ray_cluster.nodes()[0].cpus >= 1


def test_the_log_of_a_lost_node_is_not_printed(ray_cluster, monkeypatch, capfd):
    from ray._private import worker
    from ray._private.utils import publish_error_to_driver

    handled, silent = threading.Event(), worker.print_to_stdstream

    def noted(*words, **named):
        silent(*words, **named)
        handled.set()

    monkeypatch.setattr(worker, "print_to_stdstream", noted)
    publish_error_to_driver(
        "raylet_died", "the log of a node", gcs_client=worker.global_worker.gcs_client
    )
    assert handled.wait(60)
    assert "the log of a node" not in "".join(capfd.readouterr())


def test_our_own_handler_of_a_request_to_end_stays(ray_cluster):
    assert getattr(signal.getsignal(signal.SIGTERM), "__module__", "") != "ray._private.worker"


def test_an_address_where_nobody_listens_is_refused_at_once(monkeypatch):
    pytest.importorskip("ray")
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(UsageError) as raised:
            RayCluster(address)
    assert raised.value.code == "CLUSTER_UNREACHABLE"
    assert address in str(raised.value)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError) as raised:
        RayCluster()
    assert raised.value.fix == "pip install 'isomorph[ray]'"

"""Tasks are submitted a few at a time, with what they need, and their files are sent once."""

import hashlib
from pathlib import Path

import pytest

from isomorph.core.sweep import Cell
from isomorph.sweeping.cell_process import Ended
from isomorph.sweeping.ray_cluster import Lost, NodeSize
from isomorph.sweeping.ray_engine import RayEngine, asks_for_gpu
from isomorph.sweeping.remote_cell import RemoteAnswer
from isomorph.sweeping.task import CellFile, Task

ENDED = Ended(exit_code=0, stderr="", seconds=1.0, cpu_seconds=1.0, peak_bytes=1)
SMALL = NodeSize(cpus=4.0, memory=100.0, gpus=0.0)


class Fake:
    """A cluster that answers by a function of the order, the first submitted first."""

    def __init__(self, answers=lambda _: RemoteAnswer(ended=ENDED, report=b"{}"), sizes=(SMALL,)):
        self.answers, self.sizes = answers, sizes
        self.orders, self.needs, self.stored, self.canceled = [], [], [], []
        self.most = 0

    def nodes(self):
        return self.sizes

    def put(self, data):
        self.stored.append(data)
        return data

    def submit(self, order, needs):
        self.orders.append(order)
        self.needs.append(needs)
        return len(self.orders) - 1

    def ended(self, running, seconds):
        self.most = max(self.most, len(running))
        return running[:1]

    def answer(self, ended):
        found = self.answers(self.orders[ended])
        if isinstance(found, Exception):
            raise found
        return found

    def cancel(self, running, seconds):
        self.canceled.extend(running)


@pytest.fixture
def task(tmp_path):
    def made(name="a", need=10, options=None, files=None):
        cell = Cell(model=name, environment="e", shard="", seed=0, reference="r", candidate="c",
                    options=options or {})  # fmt: skip
        return Task(key=name, words=(), folder=tmp_path, need_bytes=need,
                    report=tmp_path / f"{name}.json", cell=cell, files=files or {})  # fmt: skip

    return made


def engine(cluster, **words):
    return RayEngine(cluster=cluster, versions={"isomorph": "1"}, **words)


def test_reports_are_written_where_the_sweep_looks_for_them(task):
    tasks = [task("a"), task("b")]
    assert sorted(each.key for each, _ in engine(Fake()).run(tasks)) == ["a", "b"]
    assert all(each.report.read_bytes() == b"{}" for each in tasks)


def test_no_more_are_submitted_than_asked_for(task):
    cluster = Fake()
    assert len(list(engine(cluster, jobs=3).run([task(str(at)) for at in range(10)]))) == 10
    assert cluster.most == 3


def test_the_number_submitted_follows_the_cluster(task):
    cluster = Fake(sizes=(NodeSize(cpus=20.0, memory=1e9, gpus=0.0),) * 2)
    assert len(list(engine(cluster).run([task(str(at)) for at in range(60)]))) == 60
    assert cluster.most == 40


def test_what_needs_most_begins_first_and_fits_the_largest_machine(task):
    cluster = Fake(sizes=(NodeSize(cpus=1.0, memory=64.0, gpus=0.0),))
    list(engine(cluster).run([task("small", 10), task("huge", 1000)]))
    assert [(each.cpus, each.memory) for each in cluster.needs] == [(1.0, 64), (1.0, 10)]


def test_a_lost_task_has_no_exit_code(task):
    ((_, ended),) = engine(Fake(lambda _: Lost("the machine went away"))).run([task()])
    assert (ended.exit_code, ended.stderr) == (None, "the machine went away")


def test_a_cell_that_asks_for_a_gpu_reserves_one_or_says_that_there_is_none(task):
    options = {"settings": {"candidate.device": "cuda:0"}}
    with_gpu = Fake(sizes=(SMALL, NodeSize(cpus=4.0, memory=50.0, gpus=1.0)))
    list(engine(with_gpu).run([task(options=options)]))
    assert (with_gpu.needs[0].gpus, with_gpu.needs[0].memory) == (1, 10)
    without = Fake()
    ((_, ended),) = engine(without).run([task(options=options)])
    assert ended.stderr.startswith("error[NO_GPU_IN_CLUSTER]")
    assert (ended.exit_code, without.orders) == (2, [])


def test_only_settings_that_name_cuda_ask_for_a_gpu(task):
    assert not asks_for_gpu(task(options={"settings": {"device": "cpu"}}).cell)
    assert asks_for_gpu(task(options={"settings": {"providers": "CUDAExecutionProvider"}}).cell)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    return CellFile(path=str(path), name="", digest=digest, size=7)


def asks_for_files(order):
    """As a machine without shared folders answers."""
    if not order.parts:
        return RemoteAnswer(missing=tuple(each[0].digest for each in order.files.values()))
    return RemoteAnswer(ended=ENDED, report=b"{}")


def test_a_file_that_a_machine_lacks_is_sent_once(task, model):
    cluster = Fake(asks_for_files)
    running = engine(cluster, jobs=1)
    tasks = [task(str(at), files={"r": (model,)}) for at in range(3)]
    assert len(list(running.run(tasks))) == 3
    assert cluster.stored == [b"weights"]
    assert len(cluster.orders) == 4  # the first one twice
    assert cluster.orders[-1].parts == {model.digest: [b"weights"]}
    assert running._parts == {}


def test_a_file_that_changed_meanwhile_is_not_sent(task, model):
    cluster = Fake(asks_for_files)
    ending = engine(cluster).run([task(files={"r": (model,)})])
    Path(model.path).write_bytes(b"changed")
    ((_, ended),) = ending
    assert ended.stderr.startswith("error[FILE_CHANGED]")


def test_what_runs_is_canceled_where_the_caller_leaves(task):
    cluster = Fake()
    ending = engine(cluster).run([task("a"), task("b"), task("c")])
    next(ending)
    ending.close()
    assert len(cluster.canceled) == 2

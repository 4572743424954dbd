"""The commands of a worker, called without a process of its own."""

import gc

from isomorph import registry
from isomorph.core.model import Graph, Model
from isomorph.core.trace import Environment
from isomorph.store.codec import encode
from isomorph.workers.ipc import ChannelClosedError
from isomorph.workers.worker import Worker


class _Host:
    """Loads a model of many objects, as the import of a framework leaves them."""

    def load(self, source, framework, options):
        self.kept = [[number] for number in range(20_000)]
        graph = Graph(name="", inputs=(), outputs=(), nodes=(), tensors={}, constants={})
        return Model(framework="onnx", location=source, digest="", graph=graph)


def test_objects_of_a_loaded_model_are_not_looked_at(tmp_path, monkeypatch):
    (tmp_path / "to_parent").mkdir()
    monkeypatch.chdir(tmp_path)
    worker = Worker(None, tmp_path)
    worker._host = _Host()
    collected = []
    gc.callbacks.append(lambda phase, facts: collected.append(phase))
    try:
        worker._load({
            "folder": str(tmp_path), "source": "a.onnx", "framework": None, "options": {},
            "describe": False, "model": 1,
        })  # fmt: skip
    finally:
        gc.callbacks.pop()
    assert not collected
    assert gc.isenabled()


class _Device:
    """A runtime whose device is lost by one kind of error."""

    name = "device"

    def device_lost(self, error):
        return isinstance(error, OverflowError)


class _FailingHost:
    def open(self, model, environment):
        if model == "circle":
            _raise_circle()
        raise {"lost": OverflowError, "kept": ValueError}[model]("the kernel failed")


def _raise_circle():
    """An error that is the cause of the one that it was raised after."""
    first, second = ValueError("first"), ValueError("second")
    first.__context__ = second
    raise second from first


class _Messages:
    """A parent that asks to open a session of each model."""

    def __init__(self, models):
        self.models, self.answers = list(models), []

    def receive(self):
        if not self.models:
            raise ChannelClosedError
        return {
            "command": "open", "model": self.models.pop(0), "session": 1,
            "environment": encode(Environment(runtime="device")),
        }  # fmt: skip

    def send(self, answer):
        self.answers.append(answer)


def test_a_worker_ends_after_the_error_that_costs_its_device(tmp_path, monkeypatch):
    (tmp_path / "to_parent").mkdir()
    monkeypatch.setattr(registry, "runtime", lambda name: _Device())
    channel = _Messages(["kept", "circle", "lost", "kept"])
    worker = Worker(channel, tmp_path)
    worker._host = _FailingHost()
    worker._models = {name: name for name in ("kept", "circle", "lost")}
    worker.serve()
    assert ["ends" in answer for answer in channel.answers] == [False, False, True]
    assert all("error" in answer for answer in channel.answers)
    assert channel.models == ["kept"]

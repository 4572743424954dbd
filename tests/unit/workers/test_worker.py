"""The commands of a worker, called without a process of its own."""

import gc

import pytest

from isomorph.core.model import Graph, Model
from isomorph.workers.worker import Worker


class _Host:
    """Loads a model of many objects, as the import of a framework leaves them."""

    def load(self, source, framework, options):
        self.kept = [[number] for number in range(20_000)]
        graph = Graph(name="", inputs=(), outputs=(), nodes=(), tensors={}, constants={})
        return Model(framework="onnx", location=source, digest="", graph=graph)


@pytest.fixture
def _unfrozen():
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_unfrozen")
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

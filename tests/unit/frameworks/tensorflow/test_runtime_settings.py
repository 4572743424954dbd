"""Settings that TensorFlow reads only at its import reach it in a worker of their own."""

import os

import numpy as np
import pytest

from isomorph.core.trace import Environment
from isomorph.workers.worker_host import WorkerHost
from tf_building import graph, placeholder, tensorflow, unary

tensorflow()
NAMES = ("TF_ENABLE_ONEDNN_OPTS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


@pytest.fixture
def host(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    with WorkerHost() as host:
        yield host


def test_every_setting_is_obeyed_although_the_worker_has_imported_tensorflow(host, tmp_path):
    path = tmp_path / "tanh.pb"
    path.write_bytes(graph(placeholder("x"), unary("y", "Tanh", "x")).SerializeToString())
    model = host.load(path, "tensorflow", {})  # the oracle's worker has imported TensorFlow now
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)

    def opened(**settings):
        session = host.open(model, Environment(runtime="tensorflow", settings=settings))
        (y,) = session.run({"x": x}, [model.graph.outputs[0].name]).values()
        np.testing.assert_allclose(y, np.tanh(x), rtol=1e-6)
        return session.environment

    one = {"threads": "1"}
    off = opened(**one, onednn="off")
    assert (off.facts["onednn"], off.threads) == ("off", 1)
    # The other values, in the same two processes.
    assert opened(**one, onednn="off", grappler="off").facts["grappler"] == "off"
    assert opened(xla="yes").facts["xla"] == "on"
    assert len(host._slots) == 2
    assert not set(NAMES) & set(os.environ)

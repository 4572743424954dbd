"""A large model's runtime is let go while the oracle works, and comes back when it is to run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.checking import evaluate
from isomorph.core.errors import IsomorphError
from isomorph.core.trace import Noise
from isomorph.measure.determinism import NotRepeated
from isomorph.sessions import model_handle
from isomorph.sessions.model_handle import ModelHandle
from isomorph.workers.worker_host import WorkerHost


@pytest.fixture
def path(tmp_path):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        "product",
        [value("x", TensorProto.FLOAT, [3])],
        [value("y", TensorProto.FLOAT, [3])],
        [numpy_helper.from_array(np.float32([1, 2, 3]), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("large", [True, False])
def test_a_released_runtime_runs_again_and_is_reported(path, large, monkeypatch):
    monkeypatch.setattr(model_handle, "_MANY", 1 if large else 1 << 40)
    closed = []
    with WorkerHost() as host:
        model = host.load(str(path), "onnx", {})
        side = ModelHandle(
            role="candidate", model=model, host=host, runtime="onnxruntime", settings={}
        )
        feeds = {"x": np.float32([1, 1, 1])}
        first = side.run().run(feeds, ["y"])["y"]
        session = side.run()
        monkeypatch.setattr(session, "close", _telling(session.close, closed))
        side.release()
        assert bool(closed) == large
        np.testing.assert_array_equal(side.run().run(feeds, ["y"])["y"], first)
        assert side.environments["candidate run"].runtime == "onnxruntime"


@pytest.mark.parametrize("large", [True, False])
def test_a_released_oracle_computes_the_same_again(path, large, monkeypatch):
    monkeypatch.setattr(model_handle, "_MANY", 1 if large else 1 << 40)
    closed = []
    with WorkerHost() as host:
        model = host.load(str(path), "onnx", {})
        side = ModelHandle(
            role="candidate", model=model, host=host, runtime="onnxruntime", settings={}
        )
        side.release_oracle()  # none is open yet
        feeds = {"x": np.float32([1, 1, 1])}
        session = side.oracle()
        first = session.run(feeds, ["y"], noise=Noise(seed=1))["y"]
        monkeypatch.setattr(session, "close", _telling(session.close, closed))
        side.release_oracle()
        assert bool(closed) == large
        again = side.oracle().run(feeds, ["y"], noise=Noise(seed=1))["y"]
        np.testing.assert_array_equal(again, first)


def _telling(close, closed):
    def summary():
        closed.append(True)
        close()

    return summary


def test_what_goes_wrong_ahead_of_time_is_reported_when_it_is_to_run(path):
    with WorkerHost() as host:
        model = host.load(str(path), "onnx", {})
        side = ModelHandle(
            role="candidate",
            model=model,
            host=host,
            runtime="onnxruntime",
            settings={"optimization": "whatever"},
        )
        side.prepare()
        with pytest.raises(IsomorphError):
            side.run()


@pytest.mark.parametrize(
    ("slow", "ample", "stays"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_a_runtime_that_takes_long_to_open_stays_where_memory_is_ample(
    path, slow, ample, stays, monkeypatch
):
    monkeypatch.setattr(model_handle, "_MANY", 1)
    monkeypatch.setattr(model_handle, "_SECONDS_TO_OPEN", 1 if slow else 1 << 40)
    monkeypatch.setattr(WorkerHost, "shares_worker", lambda host, weights: ample)
    closed = []
    with WorkerHost() as host:
        model = host.load(str(path), "onnx", {})
        side = ModelHandle(
            role="candidate", model=model, host=host, runtime="onnxruntime", settings={}
        )
        session = side.run()
        monkeypatch.setattr(session, "close", _telling(session.close, closed))
        side.release()
        assert bool(closed) != stays


def test_an_oracle_with_settings_is_opened_ahead_of_time(path):
    with WorkerHost() as host:
        model = host.load(str(path), "onnx", {})

        def prepared(**settings):
            side = ModelHandle(
                role="candidate", model=model, host=host, runtime="onnxruntime", settings={},
                oracle_settings=settings,
            )  # fmt: skip
            side.prepare()
            return side

        assert list(prepared().environments) == ["candidate run"]
        assert list(prepared(device="cpu").environments) == ["candidate oracle", "candidate run"]
        wrong = prepared(tempo="red")
        with pytest.raises(IsomorphError):
            wrong.oracle()
        wrong.run()


@pytest.mark.parametrize(("large", "ample"), [(True, False), (True, True), (False, False)])
def test_where_memory_is_short_the_runtime_of_a_large_model_is_opened_when_it_runs(
    path, large, ample, monkeypatch
):
    monkeypatch.setattr(model_handle, "_MANY", 1 if large else 1 << 40)
    monkeypatch.setattr(WorkerHost, "shares_worker", lambda host, weights: ample)
    with WorkerHost() as host:
        model = host.load(str(path), "onnx", {})
        side = ModelHandle(
            role="candidate", model=model, host=host, runtime="onnxruntime", settings={}
        )
        side.prepare()
        assert bool(side.environments) != (large and not ample)
        side.run()
        assert side.environments


def test_each_runtime_is_released_before_the_next_one_runs(monkeypatch):
    events = []

    def repeated(model):
        events.append(f"run {model.role}")
        return NotRepeated()

    def model(role):
        handle = SimpleNamespace(
            release=lambda: events.append(f"release {role}"), runs_beside_another=False
        )
        return SimpleNamespace(role=role, handle=handle, isolated=True)

    monkeypatch.setattr(evaluate, "compare_repeated_runs", repeated)
    assert evaluate.check_determinism(model("one"), model("two")).holds
    assert events == ["run one", "release one", "run two", "release two"]

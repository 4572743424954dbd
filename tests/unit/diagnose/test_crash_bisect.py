"""A runtime that dies while it opens a model: the node is found by cutting."""

from dataclasses import replace

import numpy as np
import pytest

import isomorph
from isomorph.core.divergence import Verdict
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.rule_examples import linted_model, node
from isomorph.diagnose.crash_bisect import crashing_node, with_crashing_node
from isomorph.sessions.model_handle import ModelHandle


class _Session:
    environment = None

    def close(self):
        """Nothing."""


class _Host:
    """A runtime that dies of one node, and counts how often it was asked."""

    isolation = "process"

    def __init__(self, fatal, *, needs=()):
        self.fatal, self.needs, self.asked, self.cutting = fatal, needs, 0, {}

    def cut(self, model, piece, feeds, path):
        wanted, kept = set(piece.fetch), []
        for each in reversed(model.graph.nodes):
            if wanted & set(each.outputs):
                kept.append(each.name)
                wanted |= set(each.inputs) - set(piece.feeds)
        self.cutting[str(path)] = set(kept)

    def load(self, source, framework, options):
        return replace(linted_model(node("Relu")).model, location=source)

    def open(self, model, environment):
        self.asked += 1
        inside = self.cutting[model.location]
        if self.fatal in inside and inside.issuperset(self.needs):
            raise RuntimeFailedError("RUNTIME_CRASHED", "it died")
        return _Session()


def _chain(length):
    nodes = [
        node("Relu", f"t{place}" if place else "x", out=f"t{place + 1}", name=f"n{place}")
        for place in range(length)
    ]
    return linted_model(*nodes).model


def _opened(host, length=40):
    return ModelHandle(
        role="candidate", model=_chain(length), host=host, runtime="onnxruntime", settings={}
    )


@pytest.mark.parametrize("name", ["n0", "n17", "n39"])
def test_the_node_is_found_by_halves(name):
    host = _Host(name)
    found = crashing_node(_opened(host), {})
    assert found.node.name == name
    assert found.alone
    assert host.asked <= 8


def test_a_node_that_dies_only_behind_another_is_reported_as_such():
    found = crashing_node(_opened(_Host("n17", needs=("n3",))), {})
    assert found.node.name == "n17"
    assert not found.alone
    assert found.sentence.startswith("everything before 'n17'")


def test_nothing_is_named_where_nothing_dies():
    crash = RuntimeFailedError("RUNTIME_CRASHED", "it died")
    assert with_crashing_node(crash, _opened(_Host("nobody")), {}) is crash


def test_no_node_is_named_for_a_runtime_that_dies_of_anything(monkeypatch):
    def dies(self, model, environment):
        raise RuntimeFailedError("RUNTIME_CRASHED", "it died")

    monkeypatch.setattr(_Host, "open", dies)
    assert crashing_node(_opened(_Host("nobody")), {}) is None


def test_a_crash_that_names_its_node_is_left_alone():
    host = _Host("n3")
    crash = RuntimeFailedError("RUNTIME_CRASHED", "it died", node="n5")
    assert with_crashing_node(crash, _opened(host), {}).node == "n5"
    assert not host.asked


def test_an_int16_subtraction_that_litert_does_not_survive(tmp_path):
    """TensorFlow's 16x8 quantizer writes a scale of 0 for a constant of zeros; LiteRT aborts."""
    pytest.importorskip("ai_edge_litert")
    from tflite_building import Building

    made = Building()
    graph = made.graph()
    x = graph.tensor("x", [2, 4], "int16", scale=[0.1], zero=[0])
    c = graph.tensor("c", [4], "int16", np.zeros(4), scale=[0.0], zero=[0])
    y = graph.tensor("y", [2, 4], "int16", scale=[0.1], zero=[0])
    z = graph.tensor("z", [2, 4], "int16", scale=[0.1], zero=[0])
    graph.op("MUL", [x, x], [y], "Mul", version=4)
    graph.op("SUB", [c, y], [z], "Sub", version=2, potScaleInt16=False)
    graph.ends([x], [z])
    path = tmp_path / "fatal.tflite"
    path.write_bytes(made.data())
    report = isomorph.check(path, path)
    assert report.verdict is Verdict.UNKNOWN
    crash = next(each for each in report.findings if each.code == "RUNTIME_CRASHED")
    assert crash.node == "SUB:1"
    assert "the scale of 'c' is not positive" in crash.summary
    assert "SUB:1" in report.reason

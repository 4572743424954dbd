"""Parts between any tensors are models of their own, and compute what the whole does."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.subgraph import Piece
from isomorph.core.trace import Environment
from isomorph.frameworks.openvino.cut import Cutter
from isomorph.frameworks.openvino.xml_graph import escaped
from openvino_building import network

FRAMEWORK = registry.framework("openvino")


def oracle(model):
    name = FRAMEWORK.oracle
    return registry.runtime(name).open(model, Environment(runtime=name, settings={}))


@pytest.fixture
def model(tmp_path):
    return FRAMEWORK.load(network(tmp_path / "m.xml"), {})


@pytest.fixture
def feeds():
    return {"x": np.random.default_rng(1).normal(size=(2, 3, 6, 6)).astype(np.float32)}


@pytest.mark.parametrize(
    ("start", "end"),
    [(["x"], ["pool"]), (["biased"], ["relu", "gate"]), (["pool"], ["logits", "label:1"]),
     (["relu", "gate"], ["logits"]), (["pool", "q"], ["logits"])],
)  # fmt: skip
def test_a_part_computes_what_the_whole_does(model, feeds, tmp_path, start, end):
    whole = oracle(model).run(feeds, [*start, *end])
    path = tmp_path / "part.xml"
    given = {
        name: np.asarray(whole[name]).astype(model.graph.tensors[name].dtype) for name in start
    }
    FRAMEWORK.cut(model, Piece(feeds=tuple(start), fetch=tuple(end)), given, path)
    part = FRAMEWORK.load(path, {})
    assert [spec.name for spec in part.graph.inputs] == start
    assert [spec.name for spec in part.graph.outputs] == end
    found = oracle(part).run(given, end)
    for name in end:
        assert np.allclose(found[name], whole[name], rtol=1e-5, atol=1e-6)


def test_a_part_holds_its_own_weights_alone(model, tmp_path):
    path = tmp_path / "part.xml"
    FRAMEWORK.cut(model, Piece(feeds=("pool",), fetch=("logits",)), {}, path)
    assert set(FRAMEWORK.load(path, {}).graph.constants) == {"q", "scale"}


def test_a_part_that_depends_on_more_is_refused(model, tmp_path):
    piece = Piece(feeds=("gate",), fetch=("logits",))
    with pytest.raises(UsageError, match="'x'"):
        FRAMEWORK.cut(model, piece, {}, tmp_path / "part.xml")


def test_what_follows_from_constants_alone(model):
    cutter = Cutter(model.native.graph, model.native.weights)
    assert {"w", "k", "axes", "real"} <= cutter.fixed
    assert not {"x", "conv", "logits"} & cutter.fixed


def test_commas_in_names():
    assert escaped("a,b\\c") == "a\\,b\\\\c"

"""A patch is tried on the nodes that it changes, fed with the values before them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from chains import graph, node
from faulty_graphs import X, captured, chain
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import Quantization
from isomorph.core.patch import (
    Patch,
    RemoveNode,
    SetAttribute,
    SetConstant,
    SetInput,
    SetQuantization,
)
from isomorph.diagnose.patch_trial import PatchTrial
from isomorph.match.topology import Topology

MADE = chain("r")
OUTPUTS = {each.name: each for each in MADE.nodes}


class Host:
    """Notes what a patched model is fed, and gives numbers back."""

    def __init__(self, found=None):
        self.found, self.fed, self.fetched = found, None, None

    def rehearse(self, model, patch, feeds, fetch):
        self.fed, self.fetched = dict(feeds), list(fetch)
        if isinstance(self.found, Exception):
            raise self.found
        return dict.fromkeys(fetch, np.ones(3) if self.found is None else self.found)


def trial(host, *nodes, earlier=None, made=MADE, capture=None):
    capture = capture or captured(made, noise=False)
    handle = SimpleNamespace(host=host, model="model")
    return PatchTrial(handle, capture, [OUTPUTS[name] for name in nodes], earlier or {})


def patch(*edits):
    return Patch(summary="", edits=edits)


SET_C = patch(SetAttribute(node="make_rc", name="alpha", value=1.0))


def test_what_goes_into_the_patched_nodes_is_fed_and_nothing_behind_them():
    host = Host()
    found = trial(host, "make_rc").run(SET_C, ["rc"])
    assert set(host.fed) == {"x", "ra", "rb"}
    assert np.allclose(host.fed["rb"], np.sin(X) * X)
    assert np.array_equal(found["rc"], np.ones(3))


def test_a_patch_of_an_earlier_node_begins_there():
    host = Host()
    early = patch(SetAttribute(node="make_ra", name="alpha", value=1.0))
    trial(host, "make_rc").run(early, ["rc"])
    assert set(host.fed) == {"x"}


def test_a_tensor_that_the_patch_reads_is_fed_as_well_unless_it_depends_on_the_patched_nodes():
    host = Host()
    trial(host, "make_rd").run(patch(SetInput(node="make_rd", index=0, tensor="ra")), ["rd"])
    assert set(host.fed) == {"x", "rc", "ra"}
    trial(host, "make_rc").run(patch(SetInput(node="make_rc", index=0, tensor="rd")), ["rc"])
    assert "rd" not in host.fed


def test_earlier_faults_are_corrected_before():
    host = Host()
    right = np.zeros_like(X)
    trial(host, "make_rc", earlier={"rb": right}).run(SET_C, ["rc"])
    assert np.array_equal(host.fed["rb"], right)


def test_other_values_may_be_given_instead():
    host = Host()
    trial(host, "make_rc").run(SET_C, ["rc"], {"rb": 7 * np.ones_like(X)})
    assert host.fed["rb"].max() == 7


@pytest.mark.parametrize(
    "found", [RuntimeFailedError("X", "broken"), ValueError("shape"), np.array(["a"])]
)
def test_a_patch_that_cannot_be_computed_is_none(found):
    assert trial(Host(found), "make_rc").run(SET_C, ["rc"]) is None


def test_what_a_removed_node_made_is_what_it_read():
    host = Host()
    found = trial(host, "make_rd").run(patch(RemoveNode(node="make_rd")), ["rd"])
    assert host.fetched == ["rc"]
    assert set(found) == {"rd"}
    both = patch(RemoveNode(node="make_rd"), RemoveNode(node="make_rc"))
    trial(host, "make_rd").run(both, ["rd"])
    assert host.fetched == ["rb"]


def test_an_output_of_the_model_keeps_its_name():
    host = Host()
    trial(host, "make_rout").run(patch(RemoveNode(node="make_rout")), ["rout"])
    assert host.fetched == ["rout"]


def grid(tensor, scale, zero=0):
    return Quantization(tensor=tensor, dtype="int8", scale=(scale,), zero_point=(zero,))


def test_integers_are_read_with_the_grid_that_the_patch_sets():
    made = replace(MADE, quantization=(grid("rc", 0.5),))
    host = Host(np.array([2, 4], np.int8))
    capture = captured(made, noise=False)
    tried = trial(host, "make_rc", capture=capture)
    assert tried.run(SET_C, ["rc"])["rc"].tolist() == [1.0, 2.0]
    edit = SetQuantization(tensor="rc", scale=(0.25,), zero_point=(2,), axis=None)
    assert tried.run(patch(edit), ["rc"])["rc"].tolist() == [0.0, 0.5]


def test_the_grid_of_a_result_follows_from_the_constants_that_the_patch_sets():
    nodes = [
        node("QuantizeLinear", ["x", "s"], "xq"),
        node("QLinearAdd", ["xq"] * 6 + ["s", "z"], "q"),
    ]
    made = replace(graph(nodes, outputs=["q"]), quantization=(grid("q", 0.5),))
    capture = SimpleNamespace(
        graph=made, topology=Topology(made), feeds={"x": X}, with_given=lambda given: {}
    )  # fmt: skip
    host = Host(np.array([2, 4], np.int8))
    handle = SimpleNamespace(host=host, model="model")
    tried = PatchTrial(handle, capture, nodes, {})
    scale = patch(SetConstant(tensor="s", value=np.array([0.25])))
    zero = patch(SetConstant(tensor="z", value=np.array([2])))
    assert tried.run(patch(), ["q"])["q"].tolist() == [1.0, 2.0]
    assert tried.run(scale, ["q"])["q"].tolist() == [0.5, 1.0]
    assert tried.run(zero, ["q"])["q"].tolist() == [0.0, 1.0]

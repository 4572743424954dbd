"""Faults in the caches and the attention of a decoder: found at their step, layer and node."""

from functools import cache

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import isomorph
from isomorph.core.decoding import TokenJudgment
from isomorph.core.divergence import Verdict
from isomorph.core.report import FindingStatus
from onnx_decoders import (
    WIDTH,
    Faults,
    buffer_decoder,
    cross_decoder,
    grouped_decoder,
    rotary_decoder,
    table_decoder,
)

FAULTS = {
    # fault: (node, cause, the first wrong cache and its step, or None)
    "position": (
        Faults(position_shift=1), {"shifted positions"}, "missing_op", ("present.0.key", 0),
    ),
    "concat order": (
        Faults(new_first=True), {"present.1.key", "present.1.value"}, "layout",
        ("present.1.key", 1),
    ),
    "head repeat order": (
        Faults(tiled_heads=True), {"layer1/key/repeated/tile", "layer1/value/repeated/tile"},
        "layout", None,
    ),
    "mask off by one": (
        Faults(sees_next=True), {"own places + 1"}, "missing_op", ("present.1.key", 0),
    ),
    "rotation base": (
        Faults(base=500.0), {"layer1/rotation/turns"}, "weight", ("present.1.key", 0),
    ),
    "scale": (Faults(scale=WIDTH**-0.5), {"layer1/attention/scaled"}, "attribute", None),
    "epsilon of one layer": (
        Faults(epsilon=1e-3), {"layer1/before/add"}, "attribute", ("present.1.key", 0),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The report on a fault, made once."""
    folder = tmp_path_factory.mktemp("decoders")
    reference = rotary_decoder(folder / "reference.onnx")

    @cache
    def report(fault):
        candidate = rotary_decoder(folder / "candidate.onnx", fault)
        return isomorph.check(reference, candidate, decode=1, in_process=True)

    return report


def located(report):
    """The nodes that were proven to be wrong, and their causes."""
    found = [each for each in report.findings if each.code == "GUILTY_NODE"]
    assert all(each.status is FindingStatus.CONFIRMED for each in found)
    return {each.node for each in found}, {each.cause for each in found}


def first_wrong_cache(report):
    place = report.decoding.first_wrong_cache
    if place is None:
        return None
    cache = report.decoding.caches[place]
    return cache.reference, cache.first_wrong


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_at_its_node_layer_and_step(checked, name):
    fault, nodes, cause, wrong_cache = FAULTS[name]
    report = checked(fault)
    assert report.verdict is Verdict.DIVERGENT
    assert located(report) == (nodes, {cause})
    assert first_wrong_cache(report) == wrong_cache
    assert not [each for each in report.findings if each.code == "TRANSLATION"]


def test_interleaved_instead_of_half_rotated_pairs_are_found_in_their_layer(checked):
    report = checked(Faults(interleaved=True))
    nodes, _ = located(report)
    assert report.verdict is Verdict.DIVERGENT
    assert nodes
    assert all(each.startswith(("layer1/query/rotated/", "layer1/key/rotated/")) for each in nodes)
    assert first_wrong_cache(report) == ("present.1.key", 0)


def test_a_wrong_token_is_reported_with_what_rounding_explains(checked):
    decoding = checked(Faults(tiled_heads=True)).decoding
    wrong = [each for step in decoding.steps for each in step.choices]
    assert decoding.wrong == 2
    assert all(each.judgment is TokenJudgment.WRONG for each in wrong)
    assert all(each.margin > each.allowed > 0 for each in wrong)
    assert decoding.own.first_different == 1
    assert decoding.own.choice.judgment is TokenJudgment.WRONG


@pytest.mark.parametrize(
    ("decoder", "fault", "node"),
    [
        (table_decoder, {"scale": 0.2}, "layer0/attention/scaled"),
        (buffer_decoder, {"shift": 1}, "shifted place"),
        (cross_decoder, {"scale": 1.01}, "present.0.encoder.value"),
        (grouped_decoder, {"scale": 0.3}, "attention"),
    ],
)
def test_faults_in_other_kinds_of_caches_are_found(tmp_path, decoder, fault, node):
    models = decoder(tmp_path / "a.onnx"), decoder(tmp_path / "b.onnx", **fault)
    report = isomorph.check(*models, decode=1, in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    assert node in located(report)[0]


def edited(source, target, edit):
    model = onnx.load(source)
    edit(model.graph)
    onnx.save(model, target)
    return target


def padding_not_read(graph):
    """The attention hides what comes later, and no padding: its mask is only asked for its size."""
    for node in graph.node:
        for place, name in enumerate(node.input):
            if name == "hidden":
                node.input[place] = "later"


def capped_scores(graph):
    place = [node.name for node in graph.node].index("layer1/attention/masked")
    graph.initializer.append(numpy_helper.from_array(np.float32(20.0), "cap"))
    graph.node[place].input[2] = "capped"
    for further, (op, first, second, name) in enumerate(
        (("Div", "layer1/attention/scaled", "cap", "small"), ("Tanh", "small", "", "bent"),
         ("Mul", "bent", "cap", "capped"))
    ):  # fmt: skip
        node = helper.make_node(op, [each for each in (first, second) if each], [name], name=name)
        graph.node.insert(place + further, node)


def test_a_mask_that_is_not_read_is_found_by_other_inputs_with_what_is_read_instead(tmp_path):
    reference = rotary_decoder(tmp_path / "reference.onnx")
    candidate = edited(reference, tmp_path / "candidate.onnx", padding_not_read)
    report = isomorph.check(reference, candidate, decode=1, in_process=True)
    assert report.verdict is Verdict.DIVERGENT
    (finding,) = report.findings
    assert (finding.code, finding.node, finding.cause) == (
        "LATENT", "layer0/attention/masked", "layout",
    )  # fmt: skip
    assert (finding.evidence["reads"], finding.evidence["should_read"]) == ("later", "hidden")
    assert finding.fix.startswith("let input 0 read 'hidden'")


def test_scores_that_are_bent_on_their_way_are_found_with_the_operator(tmp_path):
    reference = rotary_decoder(tmp_path / "reference.onnx")
    candidate = edited(reference, tmp_path / "candidate.onnx", capped_scores)
    report = isomorph.check(reference, candidate, decode=1, in_process=True)
    assert located(report) == ({"bent"}, {"missing_op"})

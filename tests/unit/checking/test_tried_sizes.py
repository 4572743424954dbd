import numpy as np

from isomorph.checking.tried_sizes import with_tried_sizes
from isomorph.core.coverage import InputKind
from isomorph.core.model import Graph, TensorSpec
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.inputs.feeds import Sample

GRAPH = Graph(
    name="g", outputs=(), tensors={}, nodes=(), constants={},
    inputs=(TensorSpec(name="wav", dtype="float32", shape=(1, "samples")),),
)  # fmt: skip
FEEDS = {"wav": np.zeros((1, 16), np.float32)}
FAILED = Finding(
    code="RUNTIME_FAILED", status=FindingStatus.CONFIRMED, effect=FindingEffect.REACHES_OUTPUT,
    summary="it failed",
)  # fmt: skip


def sample(kind):
    return Sample(feeds=FEEDS, origin="here", kind=kind)


def test_the_sizes_that_were_chosen_are_the_advice():
    found = with_tried_sizes(FAILED, GRAPH, FEEDS, sample(InputKind.GENERATED))
    assert "samples=16" in found.fix
    assert "--dim samples=SIZE" in found.fix


def test_given_inputs_were_not_chosen():
    assert with_tried_sizes(FAILED, GRAPH, FEEDS, sample(InputKind.GIVEN)).fix is None

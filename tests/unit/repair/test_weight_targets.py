"""Inputs that a search found, as proof of a repair."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.coverage import InputKind
from isomorph.core.model import Graph, Quantization, TensorSpec
from isomorph.core.report import Fact
from isomorph.localize.input_search import Trial, encoded
from isomorph.localize.weight_findings import CODE
from isomorph.repair.weight_targets import revealing_samples


def candidate(*, quantized):
    spec = TensorSpec(name="fed", dtype="float32", shape=(400,))
    grid = Quantization(tensor="fed", dtype="int8", scale=(0.01,), zero_point=(0,))
    return Graph(
        name="", inputs=(spec,), outputs=(), nodes=(), tensors={"fed": spec}, constants={},
        quantization=(grid,) if quantized else (),
    )  # fmt: skip


def report(size):
    values = np.full(400, size, np.float32)
    trial = Trial(recipe="search", feeds={"x": values}, kind=InputKind.GENERATED)
    facts = {Fact.INPUTS: encoded(trial), Fact.REACHED_BY: "search"}
    return SimpleNamespace(findings=[SimpleNamespace(code=CODE, fact=facts.get)])


@pytest.mark.parametrize(
    ("quantized", "size", "kept"), [(False, 100.0, 1), (True, 1.0, 1), (True, 100.0, 0)]
)
def test_an_input_that_the_candidate_cuts_off_proves_nothing(quantized, size, kept):
    found = list(revealing_samples([report(size)], candidate(quantized=quantized)))
    assert len(found) == kept
    assert all(sample.feeds["x"][0] == size for sample in found)

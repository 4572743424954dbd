"""The graph is right and its run is not: the finding names the runtime and the precision."""

import numpy as np
import pytest

import isomorph


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8)).eval()
    path = tmp_path_factory.mktemp("run") / "net.pt2"
    torch.export.save(torch.export.export(net, (torch.randn(4, 16),)), path)
    return path


def test_a_run_that_overflows_the_narrower_type_it_was_set_to_is_an_execution_fault(program):
    inputs = {"input": np.random.default_rng(0).normal(size=(4, 16)).astype(np.float32) * 5e4}
    settings = {"candidate.dtype": "float16"}
    report = isomorph.check(
        program,
        program,
        inputs=inputs,
        in_process=True,
        options=isomorph.CheckOptions(runtime=isomorph.RuntimeOptions(settings=settings)),
    )
    assert report.verdict == "divergent"
    output = report.outputs[0]
    assert output.rounding.budget.ratio <= 1.0, "the graphs are the same"
    assert output.execution_candidate.budget.ratio > 1.0
    first = report.findings[0]
    assert (first.code, first.cause) == ("GUILTY_NODE", "precision")
    assert first.nodes, "the nodes that run in the narrow type are named"
    answers = {each.question: each.agrees for each in first.experiments}
    assert answers["Does an optimizer of the runtime change the result?"] is False

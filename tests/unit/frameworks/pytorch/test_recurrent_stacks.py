"""Stacked recurrent layers: taken apart they give the same numbers, and a fault finds its layer."""

from __future__ import annotations

import io

import numpy as np
import onnx
import pytest
import torch
from onnx import helper
from torch import nn

import isomorph
from isomorph.frameworks.pytorch.export_reader import read_exported
from isomorph.frameworks.pytorch.program import packet_name, replace_refs
from isomorph.frameworks.pytorch.silence_logs import quietly

STACKS = {
    "lstm": lambda **rest: nn.LSTM(5, 6, 3, **rest),
    "gru": lambda **rest: nn.GRU(5, 6, 2, **rest),
    "rnn_tanh": lambda **rest: nn.RNN(5, 6, 2, **rest),
    "projected": lambda **rest: nn.LSTM(5, 6, 2, proj_size=4, **rest),
}


class Whole(nn.Module):
    """The stack with everything that it gives."""

    def __init__(self, stack):
        super().__init__()
        self.stack = stack

    def forward(self, x):
        y, state = self.stack(x)
        return (y, *state) if isinstance(state, tuple) else (y, state)


def exported(model, x):
    with quietly():
        return torch.export.export(model, (x,))


def recurrent(program):
    words = [packet_name(step.target) for step in program.steps]
    return [word for word in words if word in {"lstm", "gru", "rnn_tanh"}]


def evaluated(program, x):
    values = {**program.constants, program.inputs[0]: x}
    for step in program.steps:
        made = step.target(
            *replace_refs(step.args, values.__getitem__),
            **replace_refs(step.kwargs, values.__getitem__),
        )
        values |= zip(step.outputs, made if step.listed else [made], strict=True)
    return values


@pytest.mark.parametrize(
    "rest", [{}, {"bidirectional": True}, {"batch_first": True}, {"bias": False}]
)
@pytest.mark.parametrize("name", STACKS)
def test_layer_by_layer_gives_what_the_stack_gives(name, rest):
    torch.manual_seed(3)
    model, x = Whole(STACKS[name](**rest)).eval().double(), torch.randn(4, 4, 5).double()
    program = read_exported(exported(model, x))
    assert len(recurrent(program)) == model.stack.num_layers
    values = evaluated(program, x)
    with torch.no_grad():
        expected = model(x)
    for output, right in zip(program.outputs, expected, strict=True):
        torch.testing.assert_close(values[output], right, rtol=1e-12, atol=1e-14)
    for made, spec in program.specs.items():
        if made in values and spec.shape is not None and isinstance(values[made], torch.Tensor):
            assert tuple(values[made].shape) == spec.shape, made


def test_a_stack_that_drops_values_in_training_stays_whole():
    model, x = Whole(nn.LSTM(5, 6, 2, dropout=0.5)).train(), torch.randn(4, 4, 5)
    program = read_exported(exported(model, x))
    assert recurrent(program) == ["lstm"]


@pytest.mark.parametrize(("layer", "both_ways"), [(0, False), (0, True), (1, True)])
def test_a_fault_is_put_down_to_its_own_layer_alone(tmp_path, layer, both_ways):
    torch.manual_seed(5)
    stack = nn.GRU(5, 6, 2, bidirectional=both_ways)
    model, x = Whole(stack).eval(), torch.randn(7, 2, 5)
    torch.export.save(exported(model, x), tmp_path / "reference.pt2")
    written = io.BytesIO()
    with quietly():
        torch.onnx.export(model, (x,), written, dynamo=False, opset_version=17, input_names=["x"])
    proto = onnx.load_from_string(written.getvalue())
    node = [each for each in proto.graph.node if each.op_type == "GRU"][layer]
    kept = [each for each in node.attribute if each.name != "linear_before_reset"]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("linear_before_reset", 0)])
    onnx.save(proto, tmp_path / "candidate.onnx")
    report = isomorph.check(
        tmp_path / "reference.pt2", tmp_path / "candidate.onnx",
        inputs={"x": x.numpy().astype(np.float32)}, in_process=True,
    )  # fmt: skip
    faulty = [finding.node for finding in report.findings if finding.code == "GUILTY_NODE"]
    assert faulty == [node.name]
    assert report.findings[0].cause == "attribute"

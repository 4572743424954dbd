"""What an exporter lost of a PyTorch program is put back in ONNX's operators."""

import io
import warnings

import numpy as np
import onnx
import pytest
import torch

from isomorph import api

X = np.random.default_rng(3).normal(size=(2, 6, 8, 4)).astype(np.float32)


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.last(torch.nn.functional.silu(self.first(x)))


class Rolled(Gated):
    def forward(self, x):
        return self.last(torch.roll(torch.tanh(self.first(x)), (-2, 3), (1, 2)))


class Skipped(Gated):
    def forward(self, x):
        first = self.first(x)
        return self.last(torch.tanh(first) * torch.sigmoid(first) + first)


def without(model, name):
    """The model without this node: readers get what it read last."""
    node = next(each for each in model.graph.node if each.name == name)
    kept = node.input[-1]
    for reader in model.graph.node:
        for place, name in enumerate(reader.input):
            if name == node.output[0]:
                reader.input[place] = kept
    model.graph.node.remove(node)


def turned(model, name):
    node = next(each for each in model.graph.node if each.name == name)
    node.input[:] = list(node.input)[::-1]


FAULTS = {
    "gate": (Gated, without, "/Mul", "Sigmoid + Mul"),
    "roll": (Rolled, turned, "/Concat", "Slice + Concat"),
    "sum": (Skipped, without, "/Add", "Add"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_reference_is_spelled_where_the_candidate_lost_it(tmp_path, fault):
    network, damage, name, parts = fault
    torch.manual_seed(1)
    module, data = network().eval(), io.BytesIO()
    given = (torch.from_numpy(X),)
    with warnings.catch_warnings(action="ignore"):
        torch.export.save(torch.export.export(module, given), tmp_path / "reference.pt2")
        torch.onnx.export(module, given, data, dynamo=False, input_names=["x"], opset_version=17)
    model = onnx.load_from_string(data.getvalue())
    damage(model, name)
    onnx.save(model, tmp_path / "candidate.onnx")
    repair = api.fix(
        tmp_path / "reference.pt2", tmp_path / "candidate.onnx",
        output=tmp_path / "fixed.onnx", inputs={"x": X}, in_process=True,
    )  # fmt: skip
    assert repair.repaired, (repair.reason, repair.refused, repair.advice)
    assert f"with the reference's {parts} " in repair.applied[0].patch.summary
    left = {each.name for each in onnx.load(tmp_path / "fixed.onnx").graph.node}
    assert left & {"/first/MatMul", "/last/MatMul"}, "the rest of the candidate stays"

"""The exporters' optimizer and constant folding can be left out."""

import numpy as np
import onnx
import pytest
import torch

from isomorph import registry
from isomorph.core.conversion import Order
from isomorph.core.converter_abilities import WITHOUT_PASSES


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(4.0).reshape(2, 2))

    def forward(self, x):
        return x * self.table.transpose(0, 1)


@pytest.mark.filterwarnings("ignore")  # the exporters have many of their own
@pytest.mark.parametrize("name", ["pytorch_to_onnx", "pytorch_to_onnx_legacy"])
def test_leaving_the_passes_out_leaves_more_nodes(tmp_path, name):
    source = tmp_path / "scaled.pt2"
    torch.export.save(torch.export.export(Scaled(), (torch.ones(2, 2),)), source)
    converter = registry.converter(name)
    graph = registry.framework("pytorch").load(str(source), {}).graph
    assert converter.passes()
    example = tmp_path / "example.npz"
    np.savez(example, **{graph.inputs[0].name: np.ones((2, 2), np.float32)})
    counts = []
    for left_out in ((), converter.passes()):
        target = tmp_path / f"{len(left_out)}.onnx"
        converter.convert(Order(
            source=str(source), target=str(target), example=str(example), inputs=graph.inputs,
            outputs=graph.outputs, options={WITHOUT_PASSES: "\n".join(left_out)},
        ))  # fmt: skip
        counts.append(len(onnx.load(target).graph.node))
    assert counts[0] < counts[1]

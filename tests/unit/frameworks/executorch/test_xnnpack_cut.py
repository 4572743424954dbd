"""One node of a delegate as a delegate of its own."""

import numpy as np
import pytest

from executorch_programs import lowered, quantized
from isomorph import registry
from isomorph.frameworks.executorch.cut import Cutter
from isomorph.frameworks.executorch.read import parsed

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")


@pytest.fixture(scope="module")
def program():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten())
    samples = [(torch.randn(1, 3, 6, 6),) for _ in range(3)]
    data = lowered(quantized(module, samples), xnnpack=True)
    return registry.framework("executorch").load(data, {}).native


def test_grids_of_activations_and_of_weights_stay(program):
    node = next(each for each in program.nodes if each.native_op == "xnnpack.XNNConv2d")
    cutter = Cutter(program)
    fed = [name for name in node.inputs if cutter.is_entered(node, name)]
    assert len(fed) == 1
    alone = parsed(cutter.node(node, fed, {}), file="cut")
    made = next(each for each in alone.nodes if each.native_op == "xnnpack.XNNConv2d")
    assert made.attributes == node.attributes
    pairs = [*zip(node.inputs, made.inputs, strict=True),
             *zip(node.outputs, made.outputs, strict=True)]  # fmt: skip
    for name, other in pairs:
        left, right = program.tensors[name], alone.tensors[other]
        assert left.grid is not None
        assert right.grid is not None
        assert np.array_equal(left.grid.scale, right.grid.scale)
        assert np.array_equal(left.grid.zero_point, right.grid.zero_point)
        assert left.grid.axis == right.grid.axis

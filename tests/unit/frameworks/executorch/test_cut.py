"""Single nodes as programs of their own."""

import numpy as np
import pytest

from executorch_programs import exported, lowered
from isomorph import registry
from isomorph.frameworks.executorch.cut import Cutter
from isomorph.frameworks.executorch.read import parsed

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 300), torch.nn.Linear(300, 4)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)) * 0.5)


@pytest.fixture(scope="module", params=[False, True], ids=["portable", "xnnpack"])
def program(request):
    torch.manual_seed(0)
    data = lowered(exported(Network(), [torch.ones(2, 6)]), xnnpack=request.param)
    return registry.framework("executorch").load(data, {}).native


def test_a_node_is_a_program_that_reads_what_it_is_fed(program):
    cutter, checked = Cutter(program), 0
    assert cutter.complete
    for node in program.nodes:
        if node.native_op.startswith("executorch."):
            continue
        fed = [name for name in node.inputs if name and cutter.is_entered(node, name)]
        alone = parsed(cutter.node(node, fed, {}), file="cut")
        (made,) = alone.nodes
        assert (made.op, made.native_op, made.attributes) == (
            node.op, node.native_op, node.attributes,
        )  # fmt: skip
        assert (len(alone.inputs), len(alone.outputs)) == (len(fed), len(node.outputs))
        for name, other in zip(node.inputs, made.inputs, strict=True):
            if name and name not in fed:
                stored = program.tensors[name].array()
                assert np.array_equal(alone.tensors[other].array(), stored)
        checked += 1
    assert checked >= 4


def test_a_node_takes_no_weights_of_others_along(program):
    cutter = Cutter(program)
    sizes = {node.name: len(cutter.node(node, [node.inputs[0]], {}))
             for node in program.nodes if "tanh" in node.name.lower()}  # fmt: skip
    assert sizes
    assert max(sizes.values()) < len(program.data) - 300 * 4 * 4

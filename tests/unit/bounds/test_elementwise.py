import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

import isomorph


def test_an_integer_beyond_the_significand_is_rounded_by_a_cast(tmp_path):
    nodes = [helper.make_node("Cast", ["n"], ["y"], to=TensorProto.FLOAT)]
    ends = [
        helper.make_tensor_value_info("n", TensorProto.INT64, [2]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [2]),
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, tmp_path / "m.onnx")
    found = isomorph.ranges(
        tmp_path / "m.onnx", ranges={"n": (0, 4099)}, to="float16", in_process=True
    )
    (tensor,) = found.tensors
    assert tensor.upper >= float(np.float16(4099.0))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_a_quotient_that_is_rounded_may_reach_the_next_number(tmp_path, mode):
    class Quotient(torch.nn.Module):
        def forward(self, x):
            """Just below three in real numbers; three after rounding."""
            return torch.div(x, 0.1, rounding_mode=mode)

    program = torch.export.export(Quotient(), (torch.zeros(1),))
    torch.export.save(program, tmp_path / "m.pt2")
    high = float(np.nextafter(0.3, 0.0))
    found = isomorph.ranges(tmp_path / "m.pt2", ranges={"x": (0.0, high)}, in_process=True)
    run = Quotient()(torch.tensor([high], dtype=torch.float32))
    assert found.tensors[-1].upper >= max(float(run), 3.0)

"""ATen operators written in ONNX's compute the same in ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper, numpy_helper
from torch.nn import functional

from isomorph.core.onnx_nodes import OnnxNodes
from isomorph.core.patch import AddConstant
from isomorph.registry import operator_tables
from isomorph.sessions.in_process import InProcessHost

IN_ONNX = operator_tables("pytorch").in_onnx
OPSET = 18


def parameters(*sizes):
    torch.manual_seed(len(sizes))
    return [torch.nn.Parameter(torch.rand(size) + 0.2) for size in sizes]


class Network(torch.nn.Module):
    """A function of a tensor and of weights."""

    def __init__(self, function, *sizes):
        super().__init__()
        self.function, self.weights = function, torch.nn.ParameterList(parameters(*sizes))
        self.register_buffer("mean", torch.linspace(-1, 1, 4))
        self.register_buffer("variance", torch.linspace(0.1, 2, 4))

    def forward(self, x):
        return self.function(x, *self.weights)


class Normalized(Network):
    def forward(self, x):
        return functional.batch_norm(x, self.mean, self.variance, *self.weights, eps=1e-2)


def f(name, *given, **stated):
    return lambda x, *weights: getattr(functional, name)(x, *weights, *given, **stated)


SPELLED = {
    "silu": Network(f("silu")),
    "glu": Network(f("glu", dim=1)),
    "gelu": Network(f("gelu")),
    "hardsigmoid": Network(f("hardsigmoid")),
    "hardswish": Network(f("hardswish")),
    "leaky_relu": Network(f("leaky_relu", 0.3)),
    "celu": Network(f("celu", 0.6)),
    "softmax": Network(f("softmax", dim=1)),
    "log_softmax": Network(f("log_softmax", dim=-1)),
    "linear": Network(f("linear"), (3, 6), (3,)),
    "linear_without_bias": Network(f("linear"), (3, 6)),
    "conv": Network(
        lambda x, w, b: functional.conv2d(x, w, b, (2, 1), (1, 2), (1, 2), 2), (8, 2, 3, 3), (8,)
    ),
    "conv_transpose": Network(
        lambda x, w, b: functional.conv_transpose2d(x, w, b, 2, 1, (1, 0), 1), (4, 3, 3, 3), (3,)
    ),
    "layer_norm": Network(
        lambda x, w, b: functional.layer_norm(x, (5, 6), w, b, 1e-3), (5, 6), (5, 6)
    ),
    "batch_norm": Normalized(None, (4,), (4,)),
    "group_norm": Network(lambda x, w, b: functional.group_norm(x, 2, w, b, 1e-3), (4,), (4,)),
    "group_norm_without_weights": Network(lambda x: functional.group_norm(x, 2)),
    "roll": Network(lambda x: torch.roll(x, (-2, 3), (2, 3))),
    "roll_one": Network(lambda x: torch.roll(x, 1, 1)),
    "pad": Network(lambda x: functional.pad(x, (1, 0, 2, 3), value=1.5)),
    "pad_reflect": Network(lambda x: functional.pad(x, (1, 2, 0, 1), mode="reflect")),
    "permute": Network(lambda x: x.permute(0, -1, 1, 2)),
    "transpose": Network(lambda x: x.transpose(-1, 1)),
    "cat": Network(lambda x: torch.cat([x, x], -2)),
    "number": Network(lambda x: x * 0.7),
    "minus": Network(lambda x, w: x - w, (6,)),
    "sigmoid": Network(torch.sigmoid),
    "softplus": Network(f("softplus")),
}
NOT_SPELLED = {
    "alpha": Network(lambda x, w: torch.add(x, w, alpha=2), (6,)),
    "from_a_number": Network(lambda x: torch.rsub(x, 2.0)),
    "floor_divide": Network(lambda x: torch.floor_divide(x, 0.3)),
    "another_softplus": Network(f("softplus", beta=2.0)),
    "gelu_tanh": Network(f("gelu", approximate="tanh")),
    "rounded_decimals": Network(lambda x: torch.round(x, decimals=1)),
    "sort": Network(lambda x: torch.sort(x)[0]),
}
X = np.random.default_rng(0).normal(size=(2, 4, 5, 6)).astype(np.float32)


def written(network, folder):
    """The network's constants, and the edits of each of its nodes; None where one has none."""
    network.eval()
    program = torch.export.export(network, (torch.from_numpy(X),))
    torch.export.save(program, folder / "network.pt2")
    graph = InProcessHost().load(str(folder / "network.pt2"), "pytorch", {}).graph
    shapes = {name: tuple(spec.shape or ()) for name, spec in graph.tensors.items()}
    taken = set(graph.tensors) | set(graph.constants)

    def unused(name):
        while name in taken:
            name += "_"
        return name

    into = OnnxNodes({}, shapes.get, unused, np.dtype(np.float32))
    spelled = all(IN_ONNX(node, into.of(node.name)) for node in graph.nodes)
    values = {**dict(network.named_parameters()), **dict(network.named_buffers())}
    prefixed = {
        name: values[key].detach().numpy()
        for name in graph.constants
        for key in values
        if name.split("_", 1)[-1] == key.replace(".", "_")
    }
    return graph, prefixed, into.edits if spelled else None


def run(graph, constants, edits):
    arrays = constants | {e.name: e.value for e in edits if isinstance(e, AddConstant)}
    nodes = [
        helper.make_node(e.op, e.inputs, e.outputs, name=e.name, **e.attributes)
        for e in edits
        if not isinstance(e, AddConstant)
    ]
    assert len({node.name for node in nodes}) == len(nodes)
    made = helper.make_model(
        helper.make_graph(
            nodes,
            "network",
            [helper.make_tensor_value_info(graph.inputs[0].name, onnx.TensorProto.FLOAT, X.shape)],
            [helper.make_tensor_value_info(graph.outputs[0].name, onnx.TensorProto.FLOAT, None)],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in arrays.items()],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=9,
    )
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {graph.inputs[0].name: X})[0]


@pytest.mark.parametrize("name", SPELLED)
def test_what_is_spelled_computes_the_same(tmp_path, name):
    network = SPELLED[name]
    graph, constants, edits = written(network, tmp_path)
    assert edits is not None
    expected = network(torch.from_numpy(X)).detach().numpy()
    got = run(graph, constants, edits)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", NOT_SPELLED)
def test_what_the_table_does_not_know_is_not_spelled(tmp_path, name):
    assert written(NOT_SPELLED[name], tmp_path)[2] is None

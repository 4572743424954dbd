"""Graphs inside XNNPACK delegates: their boundary, their grids, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from executorch_programs import exported, lowered, quantized
from isomorph import registry
from isomorph.core.trace import Environment

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
nn, F = torch.nn, torch.nn.functional


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.d = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.t = nn.ConvTranspose2d(8, 4, 3, 2, 1, 1)
        self.f = nn.Linear(4, 5)

    def forward(self, x):
        x = F.relu(self.a(x))
        x = F.hardtanh(self.d(x), -0.4, 0.6) + x
        return self.f(self.t(x).mean((2, 3)))


def sessions(data):
    model = registry.framework("executorch").load(data, {})
    opened = [
        registry.runtime(name).open(model, Environment(runtime=name))
        for name in ("executorch", "executorch_oracle")
    ]
    return model, *opened


def both(data, *inputs):
    model, runtime, oracle = sessions(data)
    pairs = zip(model.graph.inputs, inputs, strict=True)
    feeds = {spec.name: each.numpy() for spec, each in pairs}
    names = [spec.name for spec in model.graph.outputs]
    return model, runtime.run(feeds, names), oracle.run(feeds, names)


@pytest.fixture(scope="module")
def samples():
    draw = torch.Generator().manual_seed(4)
    return [(torch.randn(2, 3, 8, 8, generator=draw),) for _ in range(6)]


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Convolutions().eval()


def test_float_convolutions_have_their_channels_last(network, samples):
    data = lowered(exported(network, samples[0]), xnnpack=True)
    model, run, oracle = both(data, *samples[0])
    (name,) = run
    assert np.allclose(run[name], oracle[name], atol=1e-6)
    words = {node.native_op for node in model.graph.nodes}
    assert {"xnnpack.XNNDepthwiseConv2d", "xnnpack.XNNConvTranspose2d"} <= words


def test_quantized_nodes_give_the_integers_of_the_kernels(network, samples):
    data = lowered(quantized(network, samples), xnnpack=True)
    model, run, oracle = both(data, *samples[0])
    (name,) = run
    grids = {each.tensor: each for each in model.graph.quantization}
    assert any(len(each.scale) == 8 and each.axis is not None for each in grids.values())
    # The last grid of the program is the step in which both can differ.
    step = max(max(each.scale) for each in grids.values() if each.dtype == "int8")
    assert np.max(np.abs(run[name] - oracle[name])) <= step


def test_rows_that_are_quantized_as_they_run(samples):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    x = torch.randn(3, 16)
    data = lowered(quantized(module, [(x,)], dynamic=True), xnnpack=True, dynamic=True)
    model, run, oracle = both(data, x)
    (name,) = run
    assert any(tensor.dynamic for tensor in model.native.tensors.values())
    assert np.allclose(run[name], oracle[name], atol=1e-5)
    assert not np.allclose(run[name], module(x).detach().numpy(), atol=1e-6)


def test_arguments_reach_a_delegate_by_their_places():
    class Net(nn.Module):
        def forward(self, a, b, c):
            return (c * 2.0 - b) / (a.abs() + 1.0), b * a

    draw = torch.Generator().manual_seed(1)
    inputs = [torch.randn(2, 3, generator=draw) for _ in range(3)]
    _, run, oracle = both(lowered(exported(Net(), inputs), xnnpack=True), *inputs)
    for name, expected in zip(run, Net()(*inputs), strict=True):
        assert np.allclose(run[name], expected.numpy(), atol=1e-6)
        assert np.allclose(oracle[name], run[name], atol=1e-6)


def test_another_delegate_is_refused_by_its_name(network, samples):
    from isomorph.core.errors import UnreadableModelError

    data = lowered(exported(network, samples[0]), xnnpack=True)
    other = data.replace(b"XnnpackBackend", b"XnnpackBlocked")
    with pytest.raises(UnreadableModelError, match="XnnpackBlocked") as caught:
        registry.framework("executorch").load(other, {})
    assert caught.value.code == "UNSUPPORTED_FORMAT"

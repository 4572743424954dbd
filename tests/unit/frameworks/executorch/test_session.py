"""Nodes of a program, run by themselves: the same numbers as in the run of the whole."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from executorch_programs import exported, lowered, quantized
from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.trace import Environment

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
nn, F = torch.nn, torch.nn.functional


class Network(nn.Module):
    """Convolutions, products, normalization, attention, and a reshaped value without a kernel."""

    def __init__(self):
        super().__init__()
        self.conv, self.depth = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.norm, self.qkv = nn.LayerNorm(8), nn.Linear(8, 24)
        self.table, self.out = nn.Embedding(7, 8), nn.Linear(8, 5)

    def forward(self, x, places):
        y = F.relu(self.conv(x))
        y = (F.hardtanh(self.depth(y), -0.4, 0.6) + y).flatten(2).transpose(1, 2)
        y = self.norm(y) + self.table(places)
        q, k, v = self.qkv(y).chunk(3, -1)
        y = torch.softmax(q @ k.transpose(1, 2) * 0.35, -1) @ v
        return self.out(F.gelu(y)).mean(1), y[:, 1:3].amax(-1)


@pytest.fixture(scope="module")
def inputs():
    draw = torch.Generator().manual_seed(4)
    return (torch.randn(2, 3, 8, 8, generator=draw), torch.arange(16).remainder(7)[None])


@pytest.fixture(scope="module")
def programs(inputs):
    torch.manual_seed(0)
    network = Network().eval()
    program = exported(network, inputs)
    return {
        "portable": lowered(program),
        "xnnpack": lowered(program, xnnpack=True),
        "int8": lowered(quantized(network, [inputs]), xnnpack=True),
    }


def opened(data):
    model = registry.framework("executorch").load(data, {})
    found = [registry.runtime(name).open(model, Environment(runtime=name))
             for name in ("executorch", "executorch_oracle")]  # fmt: skip
    return model, *found


def feeds_of(model, inputs):
    return {spec.name: each.numpy() for spec, each in zip(model.graph.inputs, inputs, strict=True)}


def inner(model):
    return [name for node in model.graph.nodes for name in node.outputs if name]


@pytest.mark.parametrize("kind", ["portable", "xnnpack", "int8"])
def test_every_tensor_is_that_of_the_whole_run_and_near_its_oracle(programs, inputs, kind):
    model, runtime, oracle = opened(programs[kind])
    assert (runtime.capabilities.fetch, runtime.capabilities.feed) == ("all", "all")
    feeds = feeds_of(model, inputs)
    whole = runtime.run(feeds, [spec.name for spec in model.graph.outputs])
    found = runtime.run(feeds, inner(model))
    assert all(np.array_equal(found[name], whole[name]) for name in whole)
    for node in model.graph.nodes:
        given = {name: found.get(name, feeds.get(name)) for name in node.inputs}
        given = {name: value for name, value in given.items() if value is not None}
        exact = oracle.run(given, node.outputs)
        for name in node.outputs:
            grid = model.native.tensors[name].grid
            step = 1.0 if found[name].dtype.kind in "iu" else 2e-5
            assert found[name].shape == exact[name].shape, node.name
            assert found[name].dtype.name == model.native.tensors[name].dtype, node.name
            far = np.abs(np.asarray(found[name], np.float64) - stored(exact[name], grid))
            assert np.max(far, initial=0.0) <= step, node.name


def stored(values, grid):
    """The integers of a tensor that an oracle gives as real numbers."""
    values = np.asarray(values, np.float64)
    if grid is None:
        return values
    whole = np.all(values == np.rint(values))
    return values if whole else np.rint(values / grid.scale) + grid.zero_point


@pytest.mark.parametrize("kind", ["portable", "xnnpack"])
def test_another_weight_can_be_fed(programs, inputs, kind):
    model, runtime, oracle = opened(programs[kind])
    feeds = feeds_of(model, inputs)
    names = [spec.name for spec in model.graph.outputs]
    weight = next(name for name, spec in model.graph.tensors.items()
                  if name in model.graph.constants and len(spec.shape) == 4)  # fmt: skip
    own = model.native.tensors[weight].array()
    before = runtime.run(feeds, names)
    assert all(np.array_equal(runtime.run({**feeds, weight: own}, names)[n], before[n])
               for n in names)  # fmt: skip
    after = runtime.run({**feeds, weight: own * 1.5}, names)
    exact = oracle.run({**feeds, weight: own * 1.5}, names)
    assert all(np.allclose(after[name], exact[name], atol=1e-5) for name in names)
    assert not np.allclose(after[names[0]], before[names[0]], atol=1e-5)


def test_sizes_that_a_run_computes_can_be_fed_and_fetched():
    class Sized(nn.Module):
        def forward(self, x):
            return (x * x.shape[0] + 1.0).reshape(x.shape[0] * 4)

    x = torch.arange(12.0).reshape(3, 4)
    sizes = {"x": {0: torch.export.Dim("n", min=2, max=8)}}
    model, runtime, _ = opened(lowered(exported(Sized(), [torch.ones(4, 4)], sizes)))
    feeds = feeds_of(model, [x])
    found = runtime.run(feeds, inner(model))
    (output,) = [spec.name for spec in model.graph.outputs]
    assert np.array_equal(found[output], (x * 3 + 1).reshape(12).numpy())
    (size,) = next(node.outputs for node in model.graph.nodes if node.op == "Shape")
    assert found[size] == 3
    product = next(node for node in model.graph.nodes if size in node.inputs)
    other = {**{n: found.get(n, feeds.get(n)) for n in product.inputs}, size: np.int64(5)}
    changed = runtime.run(other, product.outputs)[product.outputs[0]]
    assert not np.array_equal(changed, found[product.outputs[0]])


def test_a_state_begins_as_the_file_says():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.full((3,), 2.0))

        def forward(self, x):
            self.seen.add_(x)
            return self.seen * 2.0

    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    warnings.simplefilter("ignore")
    edge = to_edge(exported(Counts(), [torch.ones(3)]))
    stored = ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(["seen"])])
    model, runtime, _ = opened(bytes(edge.to_executorch(stored).buffer))
    feeds = feeds_of(model, [torch.ones(3)])
    (output,) = [spec.name for spec in model.graph.outputs][-1:]
    assert np.array_equal(runtime.run(feeds, inner(model))[output], np.full(3, 6.0, np.float32))


def test_rows_that_are_quantized_as_they_run_are_run_whole():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    x = torch.randn(3, 16)
    data = lowered(quantized(module, [(x,)], dynamic=True), xnnpack=True, dynamic=True)
    model, runtime, _ = opened(data)
    assert (runtime.capabilities.fetch, runtime.capabilities.feed) == ("outputs", "inputs")
    with pytest.raises(UsageError) as caught:
        runtime.run(feeds_of(model, [x]), inner(model)[:1])
    assert caught.value.code == "NOT_CUTTABLE"

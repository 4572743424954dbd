"""Every value of every run lies within its bounds, and a wrong transformer is noticed."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from bounded_graphs import COLUMNS, ROWS, GraphMaker
from isomorph.api.environment import open_model
from isomorph.bounds import elementwise, transformers
from isomorph.bounds.interval import Interval, within
from isomorph.bounds.rounding import TypeRounding
from isomorph.bounds.sample_values import SampleValues
from isomorph.bounds.walk import GraphWalk, moving_tensors

RUNS = 12


def bounds_of(handle, feeds, low, high, target=None):
    """The bounds of every tensor for one range of all inputs."""
    graph, session = handle.model.graph, handle.oracle()
    sample = SampleValues(graph, session, feeds, moving_tensors(graph))
    walk = GraphWalk(graph=graph, session=session, sample=sample, target=target)
    return walk.bounds({name: within(value.shape, low, high) for name, value in feeds.items()})


def draws(random, low, high, shape):
    """Inputs within the range; every third has its elements at the ends."""
    for place in range(RUNS):
        x = random.uniform(low, high, shape)
        if place % 3 == 0:
            x = np.where(random.random(shape) < 0.5, low, high)
        yield np.clip(x.astype(np.float32), np.float32(low), np.float32(high))


def outside(found, values):
    """The tensors that hold a number outside their bounds."""
    wrong = []
    for name, value in values.items():
        numbers = np.asarray(value, np.float64)
        numbers = numbers[~np.isnan(numbers)]
        bounds = found[name]
        if numbers.size and (numbers.min() < bounds.lower or numbers.max() > bounds.upper):
            wrong.append((name, numbers.min(), numbers.max(), bounds))
    return wrong


def violations(path, seed):
    """What lies outside its bounds in a random graph: in the oracle, and in ONNX Runtime."""
    model = GraphMaker(seed).model(9)
    onnx.save(model, path)
    random = np.random.default_rng(seed)
    low = float(random.choice([-3.0, -1.0, 0.0, 0.5]))
    high = low + float(random.choice([0.1, 1.0, 4.0]))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    runtime = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in runtime.get_outputs()]
    wrong = []
    with open_model(str(path), in_process=True) as (handle, _):
        first = {"x": np.full((ROWS, COLUMNS), low, np.float32)}
        found = bounds_of(handle, first, low, high)
        for x in draws(random, low, high, (ROWS, COLUMNS)):
            wrong += outside(found, dict(zip(names, runtime.run(names, {"x": x}), strict=True)))
            wrong += outside(found, handle.oracle().run({"x": x}, list(found)[1:]))
    return wrong


@pytest.mark.parametrize("seed", range(12))
def test_every_value_lies_within_its_bounds(tmp_path, seed):
    assert violations(tmp_path / "m.onnx", seed) == []


def at_both_ends(inputs):
    """As if every function increased."""
    return elementwise.increasing(inputs)


def without_rounding(self, result, size=0.0, terms=1.0, *, keeps_sign=False):
    """As if no run rounded."""
    return result


def half_radius(inputs):
    """Half of the width of a product."""
    return [
        Interval(each.middle - each.radius / 4, each.middle + each.radius / 4)
        for each in transformers.multilinear(inputs)
    ]


@pytest.mark.parametrize("op", ["Sub", "Mul", "Pow", "Cos", "MatMul"])
def test_a_wrong_transformer_is_noticed(tmp_path, monkeypatch, op):
    wrong = half_radius if op == "MatMul" else at_both_ends
    changed = {**transformers.TRANSFORMERS, op: wrong}
    monkeypatch.setattr(transformers, "TRANSFORMERS", changed)
    assert any(violations(tmp_path / "m.onnx", seed) for seed in range(60))


def test_missing_rounding_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(TypeRounding, "results", without_rounding)
    assert any(violations(tmp_path / "m.onnx", seed) for seed in range(60))


class Layers(torch.nn.Module):
    """Operators that the random graphs lack."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)
        self.group = torch.nn.GroupNorm(2, 8)
        self.second = torch.nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
        self.last = torch.nn.Linear(4, 3)

    def forward(self, x):
        """From an image to three numbers for each place."""
        x = torch.nn.functional.silu(self.norm(self.first(x)))
        x = self.group(torch.nn.functional.avg_pool2d(x, 2) + 1.0)
        x = torch.nn.functional.gelu(self.second(x)).clamp(-1.0, 2.0)
        x = x.flatten(2).transpose(1, 2)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return torch.nn.functional.hardswish(self.last(x)) - x.amax(-1, keepdim=True)


@pytest.mark.parametrize("target", [None, "float16", "bfloat16"])
def test_values_of_a_pytorch_program_lie_within_their_bounds(tmp_path, target):
    module = Layers().eval()
    x = torch.zeros(1, 3, 4, 4)
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "m.pt2")
    random = np.random.default_rng(0)
    with open_model(str(tmp_path / "m.pt2"), in_process=True) as (handle, _):
        found = bounds_of(handle, {"x": x.numpy()}, -1.0, 2.0, target)
        assert all(each.reason is None for each in found.values())
        for image in draws(random, -1.0, 2.0, (1, 3, 4, 4)):
            for session in (handle.oracle(), handle.run()):
                assert outside(found, session.run({"x": image}, list(found)[1:])) == []

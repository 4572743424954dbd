import warnings

import numpy as np
import pytest
import torch
from torch import nn

from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.pytorch.framework import PytorchFramework
from isomorph.frameworks.pytorch.oracle import PytorchOracle
from isomorph.frameworks.pytorch.runtime import PytorchRuntime

FRAMEWORK = PytorchFramework()


class Deciding(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        if y.sum() > 1.0:
            y = y / 3.0
        for i in range(2):
            y = y * 0.1 + i
        left, right = torch.chunk(self.head(y.mean((2, 3))), 2, 1)
        return left, {"right": right, "both": left + right}


def saved(make, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make().save(path)
    return FRAMEWORK.load(path, {})


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(0)
    return Deciding().eval()


@pytest.fixture(scope="module")
def model(module, tmp_path_factory):
    return saved(lambda: torch.jit.script(module), tmp_path_factory.mktemp("s") / "m.pt")


def sessions(model):
    return (
        PytorchRuntime().open(model, Environment(runtime="pytorch")),
        PytorchOracle().open(model, Environment(runtime="pytorch_oracle")),
    )


def names(model):
    return [name for node in model.graph.nodes for name in node.outputs]


@pytest.mark.parametrize("sign", [1.0, -20.0])
def test_both_branches_give_what_the_module_gives(model, module, sign):
    x = sign * torch.arange(2 * 2 * 5 * 5.0).reshape(2, 2, 5, 5).sin()
    session, oracle = sessions(model)
    outputs = [spec.name for spec in model.graph.outputs]
    with torch.no_grad():
        left, rest = module(x)
    expected = dict(zip(outputs, (left, rest["right"], rest["both"]), strict=True))
    whole = session.run({"x": x.numpy()}, names(model))
    plain = session.run({"x": x.numpy()}, outputs)
    truth = oracle.run({"x": x.numpy()}, outputs)
    for name, value in expected.items():
        assert np.array_equal(plain[name], value.numpy())
        assert np.array_equal(whole[name], value.numpy())
        assert truth[name].dtype == np.float64
        assert np.allclose(truth[name], value.numpy(), rtol=1e-5, atol=1e-7)
        assert not np.array_equal(truth[name], value.numpy())


def test_the_noise_is_that_of_float32_although_no_type_is_declared(model):
    x = np.random.default_rng(0).normal(size=(2, 2, 5, 5)).astype(np.float32)
    session, oracle = sessions(model)
    (name, *_) = (spec.name for spec in model.graph.outputs)
    truth, ran = oracle.run({"x": x}, [name])[name], session.run({"x": x}, [name])[name]
    draws = [
        oracle.run({"x": x}, [name], noise=Noise(seed=s, rounding=True))[name] for s in range(8)
    ]
    spread = np.std(draws, axis=0, ddof=1)
    assert np.all(np.abs(ran - truth) < 6 * spread)
    assert np.all(spread < 100 * 2.0**-24 * np.abs(truth).max())


def test_the_description(model):
    ops = {node.op for node in model.graph.nodes}
    assert {"Conv", "BatchNormalization", "Relu", "Gemm", "If", "Split"} <= ops
    conv = next(node for node in model.graph.nodes if node.op == "Conv")
    assert conv.inputs == ("x", "p_conv_weight", "p_conv_bias")
    assert conv.attributes["stride"] == (1, 1)
    assert conv.source.module == "conv"
    branch = next(node for node in model.graph.nodes if node.op == "If")
    assert {body.name for body in branch.bodies.values()} == {
        f"{branch.name}/body#0",
        f"{branch.name}/body#1",
    }


def test_a_cut_starts_from_what_is_fed(model):
    session, _ = sessions(model)
    x = np.ones((2, 2, 5, 5), np.float32)
    whole = session.run({"x": x}, names(model))
    gemm = next(node for node in model.graph.nodes if node.op == "Gemm")
    fed = {gemm.inputs[0]: whole[gemm.inputs[0]]}
    again = session.run(fed, gemm.outputs)
    assert np.array_equal(again[gemm.outputs[0]], whole[gemm.outputs[0]])


def test_a_traced_module_remembers_its_shapes(tmp_path):
    x = torch.randn(4, 3)
    traced = saved(lambda: torch.jit.trace(nn.Linear(3, 2).eval(), x), tmp_path / "t.pt")
    (spec,) = traced.graph.inputs
    assert (spec.dtype, spec.shape) == ("float32", (4, 3))


class Accumulating(nn.Module):
    def forward(self, x: torch.Tensor, times: int):
        kept: list[torch.Tensor] = []
        for i in range(times):
            x = torch.tanh(x + i)
            kept.append(x)
        y = torch.zeros_like(x)
        y[0] = x[0] / 3
        return torch.stack(kept), y


def test_a_script_that_writes_into_memory_is_not_cut_but_still_has_an_oracle(tmp_path):
    model = saved(lambda: torch.jit.script(Accumulating()), tmp_path / "a.pt")
    session, oracle = sessions(model)
    assert session.capabilities.fetch == oracle.capabilities.fetch == "outputs"
    x = np.array([[0.1, -0.4], [1.0, 2.0]], np.float32)
    stacked, written = (spec.name for spec in model.graph.outputs)
    feeds = {"x": x, "times": np.array(3)}
    truth = oracle.run(feeds, [stacked, written])
    value, kept = x.astype(np.float64), []
    for i in range(3):
        value = np.tanh(value + i)
        kept.append(value)
    assert np.allclose(truth[stacked], kept, rtol=1e-14)
    assert np.allclose(truth[written], [value[0] / 3, [0, 0]], rtol=1e-14)
    assert np.allclose(session.run(feeds, [written])[written], truth[written], rtol=1e-6)
    noisy = oracle.run(feeds, [written], noise=Noise(seed=1, rounding=True))[written]
    assert 0 < np.abs(noisy - truth[written]).max() < 1e-6
    with pytest.raises(UsageError):
        session.run(feeds, ["nothing"])


def test_inputs_that_are_no_tensors_are_refused_by_name(tmp_path):
    class Worded(nn.Module):
        def forward(self, x: torch.Tensor, word: str):
            return x if word == "same" else -x

    with pytest.raises(UnreadableModelError, match="word"):
        saved(lambda: torch.jit.script(Worded()), tmp_path / "w.pt")

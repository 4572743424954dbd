import numpy as np
import pytest
import torch
from torch import nn

import isomorph
from isomorph.core.errors import UsageError
from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.pytorch.framework import PytorchFramework
from isomorph.frameworks.pytorch.oracle import PytorchOracle
from isomorph.frameworks.pytorch.runtime import PytorchRuntime


class Deciding(nn.Module):
    """Python decides on values, which torch.export refuses."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        y = self.inner(x)
        if y.sum() > 0:
            return y / 3
        y[:, 0] = 5.0
        return y.relu_() * self.seen


@pytest.fixture
def opened(tmp_path):
    torch.manual_seed(0)
    module = Deciding().eval()
    np.savez(tmp_path / "inputs.npz", x=np.ones((2, 3), np.float32))
    model = PytorchFramework().load(module, {"inputs": str(tmp_path / "inputs.npz")})
    environment = Environment(runtime="pytorch", isolation="none")
    return (
        module,
        model,
        PytorchRuntime().open(model, environment),
        PytorchOracle().open(model, environment),
    )


def test_it_gives_outputs_only(opened):
    _, model, session, oracle = opened
    assert any("torch.export refused" in note for note in model.notes)
    assert session.capabilities.fetch == oracle.capabilities.fetch == "outputs"
    assert session.environment.isolation == "none"
    with pytest.raises(UsageError) as refused:
        session.run({"x": np.ones((2, 3), np.float32)}, [model.graph.nodes[0].outputs[0]])
    assert refused.value.code == "OUTPUTS_ONLY"


@pytest.mark.parametrize("sign", [3.0, -3.0])
def test_each_run_follows_its_own_decisions(opened, sign):
    module, model, session, oracle = opened
    (name,) = (spec.name for spec in model.graph.outputs)
    feeds = {"x": np.full((2, 3), sign, np.float32)}
    weight, bias = (p.detach().double().numpy() for p in module.inner.parameters())
    expected = feeds["x"].astype(np.float64) @ weight.T + bias
    if expected.sum() > 0:
        expected /= 3
    else:
        expected[:, 0] = 5.0
        expected = np.maximum(expected, 0)
    truth = oracle.run(feeds, [name])[name]
    assert np.allclose(truth, expected, rtol=1e-14)
    ran = session.run(feeds, [name])[name]
    assert np.allclose(ran, expected, rtol=1e-6)
    assert np.array_equal(session.run(feeds, [name])[name], ran), "the counter leaked"
    noise = Noise(seed=2, rounding=True)
    noisy = oracle.run(feeds, [name], noise=noise)[name]
    assert 0 < np.abs(noisy - truth).max() < 1e-5
    assert np.array_equal(noisy, oracle.run(feeds, [name], noise=noise)[name])
    assert feeds["x"].tolist() == [[sign] * 3] * 2
    assert module.seen.item() == 0


def test_both_signs_take_different_branches(opened):
    module, *_ = opened
    with torch.no_grad():
        sums = [module.inner(torch.full((2, 3), sign)).sum().item() for sign in (3.0, -3.0)]
    assert min(sums) < 0 < max(sums), "the test above shows one branch only"


def test_a_missing_input_is_named(opened):
    _, model, _, oracle = opened
    with pytest.raises(UsageError, match="'x'"):
        oracle.run({}, [spec.name for spec in model.graph.outputs])


class TwoInputs(nn.Module):
    def forward(self, a, b):
        return a - 2 * b if a.sum() > 0 else a - 3 * b


@pytest.mark.parametrize("given", [{"a": 1, "b": 2}, {"b": 2, "a": 1}], ids=["ab", "ba"])
def test_inputs_of_a_live_module_are_given_by_name(given):
    inputs = {name: np.full((2, 3), value, np.float32) for name, value in given.items()}
    found = isomorph.run(TwoInputs().eval(), inputs=inputs, in_process=True).tensors
    assert [value.tolist() for value in found.values()] == [[[-3.0] * 3] * 2]


def test_a_name_that_forward_does_not_have_is_refused_with_those_that_it_has():
    inputs = {name: np.ones((2, 3), np.float32) for name in ("a", "q")}
    with pytest.raises(UsageError, match="the model has no input 'q'") as raised:
        isomorph.check(TwoInputs().eval(), inputs=inputs, in_process=True)
    assert raised.value.why == "TwoInputs.forward takes: a, b"

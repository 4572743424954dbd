"""Patches of a program: in memory for the oracle, and in place in a copy of the file."""

from __future__ import annotations

import numpy as np
import pytest

from executorch_programs import exported, lowered
from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.patch import Patch, RemoveNode, SetAttribute, SetConstant
from isomorph.core.trace import Environment

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")
nn, F = torch.nn, torch.nn.functional


class Net(nn.Module):
    def __init__(self, slope):
        super().__init__()
        torch.manual_seed(0)
        self.c, self.slope = nn.Conv2d(2, 3, 3, padding=1), slope

    def forward(self, x):
        return F.leaky_relu(self.c(x), self.slope)


X = torch.randn(1, 2, 5, 5, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module", params=[False, True], ids=["portable", "xnnpack"])
def model(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.pte"
    path.write_bytes(lowered(exported(Net(0.25), [X]), xnnpack=request.param))
    return registry.framework("executorch").load(str(path), {})


def result(model, runtime):
    (name,) = [spec.name for spec in model.graph.outputs]
    session = registry.runtime(runtime).open(model, Environment(runtime=runtime))
    return session.run({"args_0": X.numpy()}, [name])[name]


def applied(model, edit, folder):
    framework, patch = registry.framework("executorch"), Patch(summary="", edits=(edit,))
    framework.apply(model, patch, folder / "patched.pte")
    written = framework.load(str(folder / "patched.pte"), {})
    return framework.apply_in_memory(model, patch), written


def test_an_attribute_is_set_in_memory_and_in_the_file(model, tmp_path):
    node = next(node for node in model.graph.nodes if node.op == "LeakyRelu")
    edit = SetAttribute(node=node.name, name="negative_slope", value=0.5)
    memory, written = applied(model, edit, tmp_path)
    expected = Net(0.5)(X).detach().numpy()
    assert np.allclose(result(memory, "executorch_oracle"), expected, atol=1e-6)
    assert np.allclose(result(written, "executorch"), expected, atol=1e-6)
    assert np.allclose(result(model, "executorch"), Net(0.25)(X).detach().numpy(), atol=1e-6)


def test_a_constant_is_set_in_memory_and_in_the_file(model, tmp_path):
    name = next(name for name, each in model.graph.constants.items() if len(each.shape) == 4)
    doubled = 2 * model.native.tensors[name].array()
    memory, written = applied(model, SetConstant(tensor=name, value=doubled), tmp_path)
    before = result(model, "executorch_oracle")
    assert np.allclose(
        result(written, "executorch"), result(memory, "executorch_oracle"), atol=1e-6
    )
    assert not np.allclose(result(written, "executorch"), before, atol=1e-3)


def test_a_word_is_set_to_another_of_its_length(tmp_path):
    class Tanh(nn.Module):
        def forward(self, x):
            return F.gelu(x, approximate="tanh")

    path = tmp_path / "net.pte"
    path.write_bytes(lowered(exported(Tanh(), [X])))
    model = registry.framework("executorch").load(str(path), {})
    (node,) = [node for node in model.graph.nodes if node.op == "Gelu"]
    edit = SetAttribute(node=node.name, name="approximate", value="none")
    memory, written = applied(model, edit, tmp_path)
    expected = F.gelu(X).numpy()
    assert np.allclose(result(memory, "executorch_oracle"), expected, atol=1e-6)
    assert np.allclose(result(written, "executorch"), expected, atol=1e-6)
    with pytest.raises(UsageError, match="does not fit"):
        applied(model, SetAttribute(node=node.name, name="approximate", value="erf"), tmp_path)


def test_what_the_file_has_no_place_for_is_refused(model, tmp_path):
    node = model.graph.nodes[-1].name
    for edit in (RemoveNode(node=node), SetAttribute(node=node, name="axis", value=1)):
        with pytest.raises(UsageError) as caught:
            applied(model, edit, tmp_path)
        assert caught.value.code == "PATCH_NOT_POSSIBLE"
    assert not list(tmp_path.iterdir())

"""PyTorch programs lowered to ExecuTorch: as they are, quantized, and without delegates."""

from __future__ import annotations

import numpy as np
import pytest

from executorch_programs import exported
from isomorph import registry
from isomorph.core.conversion import Order
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.model import TensorSpec

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")


@pytest.fixture
def order(tmp_path):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    rng, samples = np.random.default_rng(0), []
    for place in range(3):
        samples.append(str(tmp_path / f"sample_{place}.npz"))
        np.savez(samples[-1], input=rng.normal(size=(2, 8)).astype(np.float32))
    torch.export.save(exported(net, [torch.randn(2, 8)]), tmp_path / "net.pt2")

    def made(width="", **options):
        return Order(
            source=str(tmp_path / "net.pt2"),
            target=str(tmp_path / "net.pte"),
            example=samples[0],
            samples=tuple(samples),
            width=width,
            inputs=(TensorSpec(name="input", dtype="float32", shape=(2, 8)),),
            options=options,
        )

    return made


def words(order):
    model = registry.framework("executorch").load(order.target, {})
    return {node.native_op for node in model.graph.nodes}, model


@pytest.mark.parametrize("width", ["", "int8", "dynamic"])
def test_products_go_to_xnnpack(order, width):
    asked = order(width)
    notes = registry.converter("pytorch_to_executorch").convert(asked)
    assert bool(notes) == (width == "int8")
    found, model = words(asked)
    assert "xnnpack.XNNFullyConnected" in found
    narrow = {each.dtype for each in model.graph.constants.values()}
    assert ("int8" in narrow) == bool(width)


def test_the_portable_program_has_no_delegate(order):
    registry.converter("pytorch_to_executorch_portable").convert(order())
    found, _ = words(order())
    assert found
    assert all(word.startswith(("aten.", "executorch.")) for word in found)
    registry.converter("pytorch_to_executorch").convert(order(delegates="none"))
    assert words(order())[0] == found


def test_a_sample_without_an_input_is_named(order, tmp_path):
    np.savez(tmp_path / "sample_1.npz", other=np.zeros((2, 8), np.float32))
    with pytest.raises(RuntimeFailedError, match="sample_1"):
        registry.converter("pytorch_to_executorch").convert(order("int8"))


def test_operators_that_are_lowered_are_plain_words():
    operators = registry.converter("pytorch_to_executorch").abilities()["operators"]
    assert {"aten.convolution.default", "aten.linear.default"} <= set(operators)
    assert "aten._linalg_eigh.default" not in operators

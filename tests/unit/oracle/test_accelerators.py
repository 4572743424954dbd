"""Products of one framework's oracle on a device that another one computes on."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph import registry
from isomorph.core.trace import Environment, Noise
from isomorph.oracle import accelerators

value = helper.make_tensor_value_info


class Recording:
    """Computes in NumPy, and keeps what it was asked."""

    device = "elsewhere:0"

    def __init__(self):
        self.asked, self.closed = [], False

    def product(self, rows, stored, *, absolute):
        self.asked.append((len(rows), absolute))
        wide = stored.astype(np.float64)
        return rows @ (np.abs(wide) if absolute else wide)

    def close(self):
        self.closed = True


class Able:
    """An oracle with a device."""

    def __init__(self):
        self.given = Recording()

    def products_on(self, device):
        assert device == "elsewhere"
        return self.given

    def device_lost(self, error):
        return isinstance(error, ZeroDivisionError)


@pytest.fixture
def able(monkeypatch):
    found = Able()
    monkeypatch.setattr(accelerators, "_able", lambda: iter([found]))
    monkeypatch.setattr(accelerators, "_in_use", [])
    return found


def product_of(folder, transposed):
    weights = np.random.default_rng(0).normal(size=(1030, 1040)).astype(np.float32)
    node = helper.make_node(
        "Gemm" if transposed else "MatMul",
        ["x", "w"],
        ["y"],
        **({"transB": 1} if transposed else {}),
    )
    graph = helper.make_graph(
        [node],
        "product",
        [value("x", TensorProto.FLOAT, [3, 1040 if transposed else 1030])],
        [value("y", TensorProto.FLOAT, [3, 1030 if transposed else 1040])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    return registry.framework("onnx").load(path, {}), graph


def opened(model, device):
    asked = Environment(runtime="onnx_oracle", settings={"device": device})
    return registry.runtime("onnx_oracle").open(model, asked)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_onnx_oracle_multiplies_on_the_device_of_its_setting(
    able, tmp_path, transposed, monkeypatch
):
    from isomorph.oracle import weights

    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    model, graph = product_of(tmp_path, transposed)
    here, there = opened(model, "cpu"), opened(model, "elsewhere")
    assert there.environment.device == "elsewhere:0"
    assert there.environment.settings == {"device": "elsewhere"}
    shape = [each.dim_value for each in graph.input[0].type.tensor_type.shape.dim]
    feeds = {"x": np.random.default_rng(1).normal(size=shape).astype(np.float32)}
    # Sizes of roundings have seven digits on the processor.
    for noise, near in ((None, 1e-12), (Noise(seed=1, rounding=True), 1e-9)):
        one, other = (each.run(feeds, ["y"], noise=noise)["y"] for each in (here, there))
        np.testing.assert_allclose(other, one, rtol=near, atol=near)
    assert able.given.asked == [(3, False), (3, False), (3, True)]
    there.close()
    assert able.given.closed


def test_the_processor_needs_no_other_oracle(able):
    assert accelerators.products_on("cpu") is None
    assert not accelerators.loses_device(ZeroDivisionError())


def test_a_lost_device_is_recognized_by_the_oracle_that_computes_there(able):
    assert accelerators.products_on("elsewhere") is able.given
    assert accelerators.loses_device(ZeroDivisionError())
    assert not accelerators.loses_device(ValueError())


def test_the_oracle_of_pytorch_is_able_to():
    assert registry.runtime("pytorch_oracle") in list(accelerators._able())

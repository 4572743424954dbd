"""An order has the model's interface, an example, and samples where the width needs them."""

import numpy as np

from isomorph.api.environment import open_loader
from isomorph.conversion.converter_samples import SampleSource
from isomorph.conversion.orders import order_for
from isomorph.core.conversion import Step


def test_an_order_states_the_interface_and_holds_an_example(dense, tmp_path):
    with open_loader(dense) as loader:
        model = loader.load(dense)
    samples = SampleSource(first=model, given=None, data=None, dims={}, seed=0)
    step = Step(converter="any", source="onnx", target="onnx", width="float16")
    order = order_for(
        step, model, str(dense), samples=samples, folder=tmp_path, options={"opset": "17"}
    )
    assert (order.source, order.width, order.options) == (str(dense), "float16", {"opset": "17"})
    assert [spec.name for spec in (*order.inputs, *order.outputs)] == ["x", "y"]
    assert order.samples == ()
    with np.load(order.example) as arrays:
        assert arrays["x"].shape[1:] == (6,)

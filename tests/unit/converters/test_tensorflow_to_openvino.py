"""TensorFlow to OpenVINO: the frozen graph, by OpenVINO's own front end."""

import numpy as np
import pytest

import isomorph
from isomorph import registry
from isomorph.core.conversion import Order

pytest.importorskip("openvino")
pytest.importorskip("tensorflow")

from tf_building import image, network, saved


@pytest.mark.filterwarnings("ignore")
def test_it_is_the_same_function(tmp_path):
    source = saved(network(), tmp_path / "net.keras")
    x = image()
    np.savez(tmp_path / "x.npz", image=x)
    order = Order(source=str(source), target=str(tmp_path / "net.xml"),
                  example=str(tmp_path / "x.npz"))  # fmt: skip
    assert registry.converter("tensorflow_to_openvino").convert(order) == ("weights as they were",)
    report = isomorph.check(
        source, order.target, inputs={"image": x}, settings={"candidate.precision": "f32"}
    )
    assert report.verdict is isomorph.Verdict.EQUIVALENT, report.reason

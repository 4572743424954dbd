"""PyTorch to Core ML: a real conversion, proven in translation, and what is handed over."""

import sys
import warnings
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import isomorph
from isomorph.conversion.deliver import conversion_request
from isomorph.converters import pytorch_to_coreml
from isomorph.core.conversion import Order
from isomorph.core.divergence import Verdict
from isomorph.core.model import TensorSpec
from isomorph.linting.target_support import lacks

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.head = torch.nn.Conv2d(3, 8, 3), torch.nn.Linear(8, 4)

    def forward(self, image):
        return self.head(torch.relu(self.conv(image)).mean((2, 3)))


@pytest.mark.skipif(find_spec("coremltools") is None, reason="needs Core ML Tools")
@pytest.mark.skipif(sys.platform == "darwin", reason="there the result is run")
def test_a_result_is_proven_in_translation(tmp_path):
    source, target = tmp_path / "net.pt2", tmp_path / "net.mlpackage"
    image = torch.randn(1, 3, 8, 8)
    torch.export.save(torch.export.export(Net().eval(), (image,)), source)
    done = isomorph.convert(
        source, target, quantize="palettized", inputs={"image": image.numpy()},
        translation_only=True,
    )  # fmt: skip
    assert done.verdict is Verdict.DEGRADED, done.reason
    assert "--translation-only" in done.repeat
    assert (target / "Manifest.json").is_file()
    report = done.chosen[-1].report
    assert report.translation is Verdict.DEGRADED
    assert [each.role for each in report.not_run] == ["candidate"]
    plain = isomorph.check(source, target, inputs={"image": image.numpy()}, in_process=True)
    assert plain.verdict is Verdict.UNKNOWN


def order(**more):
    specs = (TensorSpec(name="ids", dtype="int64", shape=(1, 4)),)
    return Order(source="s", target="t", example="e", inputs=specs, **more)


TOOLS = SimpleNamespace(TensorType=lambda **stated: stated)


def test_inputs_keep_their_names_and_integers_are_int32():
    (one,) = pytorch_to_coreml._inputs(TOOLS, order(), (torch.zeros(1, 4, dtype=torch.int64),))
    assert one == {"name": "ids", "shape": (1, 4), "dtype": np.int32}


@pytest.mark.parametrize(("name", "kept"), [("logits", True), ("op.1", False), ("1", False)])
def test_outputs_keep_the_names_that_core_ml_can_hold(name, kept):
    outputs = (TensorSpec(name=name, dtype="float32", shape=(1,)),)
    stated = pytorch_to_coreml._outputs(TOOLS, order(outputs=outputs))
    assert stated == ([{"name": name, "dtype": np.float32}] if kept else None)


def test_the_suffix_of_a_package_names_the_format():
    asked = conversion_request("net.mlpackage", to=None, width="palettized", via=())
    assert (asked.target, asked.width) == ("coreml", "palettized")


@pytest.mark.skipif(find_spec("coremltools") is None, reason="needs Core ML Tools")
def test_its_operators_are_those_of_the_table_of_core_ml_tools():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its package does while it is imported
        reported = pytorch_to_coreml.PytorchToCoreml().abilities()
    taken = ("aten.conv2d.default", "aten.lstm.input", "aten.relu_.default", "aten.sym_size.int")
    assert not [each for each in taken if lacks(reported, each)]
    # Each ended in "PyTorch convert function for op … not implemented" when it was converted.
    refused = ("aten.cdist.default", "aten.erfinv.default", "aten.lgamma.default",
               "aten.linalg_svd.default", "aten.special_i0.default")  # fmt: skip
    assert [each for each in refused if lacks(reported, each)] == list(refused)

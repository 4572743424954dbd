"""Settings of one side, of the oracles, and of nobody."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import isomorph
from isomorph.core.errors import IsomorphError


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    module, x = nn.Linear(3, 2).eval(), torch.ones(1, 3)
    torch.export.save(torch.export.export(module, (x,)), folder / "net.pt2")
    weights = {name: value.detach().numpy() for name, value in module.named_parameters()}
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["input", *weights], ["y"], transB=1)],
        "net",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opset = helper.make_opsetid("", 20)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), folder / "net.onnx")
    return folder / "net.pt2", folder / "net.onnx"


def check(pair, **settings):
    inputs = {"input": np.ones((1, 3), np.float32)}
    return isomorph.check(*pair, inputs=inputs, settings=settings, in_process=True, quick=True)


def test_a_setting_of_the_oracles_is_for_each_that_knows_it(pair):
    environments = check(pair, **{"oracle.device": "cpu"}).environments
    for side in ("reference", "candidate"):
        assert environments[f"{side} oracle"].settings == {"device": "cpu"}
    assert "oracle.device" not in environments["reference run"].settings


def test_an_oracle_without_its_device_leaves_the_verdict_unknown(pair):
    report = check(pair, **{"oracle.device": "warp"})
    assert report.verdict == "unknown"
    assert any(found.code == "NO_SUCH_DEVICE" for found in report.findings)


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("oracle.tempo", "red", "UNKNOWN_SETTING"),
        ("nobody.device", "cpu", "UNKNOWN_SETTING"),
        ("candidate.oracle.device", "cpu", "UNKNOWN_SETTING"),
    ],
)
def test_a_setting_that_nobody_takes_is_refused(pair, key, value, code):
    with pytest.raises(IsomorphError) as refused:
        check(pair, **{key: value})
    assert refused.value.code == code

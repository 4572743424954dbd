"""What a proof takes ONNX Runtime's fused operators to mean, held to its kernels."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from isomorph.frameworks.onnx.meanings import MEANINGS
from spelled_values import spelled_values

RNG = np.random.default_rng(41)
MICROSOFT = "com.microsoft"


def f(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def v(size):
    return f(size) + np.float32(0.1)


IMAGE, KERNEL = f(1, 4, 7, 8), f(6, 2, 3, 3)
WINDOW = {"group": 2, "pads": [1, 0, 1, 2], "strides": [2, 1], "kernel_shape": [3, 3]}
ROW = f(2, 3, 8)
CASES = {
    "FusedConv": [
        ((IMAGE, KERNEL, f(6)), {**WINDOW, **stated})
        for stated in (
            {"activation": "Relu"},
            {"activation": "Sigmoid"},
            {"activation": "Tanh"},
            {"activation": "LeakyRelu", "activation_params": [0.2]},
            {"activation": "Clip", "activation_params": [-0.3, 0.9]},
            {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]},
        )
    ] + [((IMAGE, KERNEL, f(6), f(1, 6, 4, 8)), {**WINDOW, "activation": "Relu"})],
    "FusedMatMul": [
        ((f(2, 4, 3) if a else f(2, 3, 4), f(2, 5, 4) if b else f(2, 4, 5)),
         {"alpha": 0.7, "transA": int(a), "transB": int(b)})
        for a in (False, True) for b in (False, True)
    ],
    "FusedGemm": [
        ((f(4, 3), f(5, 4), f(5)),
         {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0, "activation": "Relu"}),
        ((f(3, 4), f(4, 5), f(5)), {"activation": "LeakyRelu", "activation_alpha": 0.3}),
        ((f(3, 4), f(4, 5), f(5)),
         {"activation": "HardSigmoid", "activation_alpha": 0.1, "activation_beta": 0.4}),
    ],
    "Gelu": [((f(3, 4),), {})],
    "BiasGelu": [((f(3, 4), f(4)), {})],
    "FastGelu": [((f(3, 4),), {}), ((f(3, 4), f(4)), {})],
    "QuickGelu": [((f(3, 4),), {}), ((f(3, 4),), {"alpha": 0.8})],
    "SkipLayerNormalization": [
        ((ROW, f(2, 3, 8), f(8), f(8)), {"epsilon": 1e-3}),
        ((ROW, f(2, 3, 8), f(8), f(8), f(8)), {"epsilon": 1e-5, "outputs": (0, 3)}),
    ],
    "SkipSimplifiedLayerNormalization": [
        ((ROW, f(2, 3, 8), f(8)), {"epsilon": 1e-3, "outputs": (0, 3)}),
        ((ROW, f(2, 3, 8), f(8), f(8)), {"epsilon": 1e-3}),
    ],
    "SimplifiedLayerNormalization": [((ROW, f(8)), {"axis": -1, "epsilon": 1e-3, "stash_type": 1})],
}  # fmt: skip


def built(op, arrays, stated):
    stated = dict(stated)
    places = stated.pop("outputs", (0,))
    names = [f"y{at}" if at in places else "" for at in range(max(places) + 1)]
    domain = "" if op == "SimplifiedLayerNormalization" else MICROSOFT
    node = helper.make_node(op, [f"x{k}" for k in range(len(arrays))], names, domain=domain,
                            **stated)  # fmt: skip
    inputs = [
        helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, array.shape)
        for k, array in enumerate(arrays)
    ]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names if n]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    graph = helper.make_graph([node], "one", inputs, outputs)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("op", CASES)
def test_every_meaning_is_that_of_the_kernels(op):
    for arrays, stated in CASES[op]:
        model = built(op, arrays, stated)
        feeds = {f"x{k}": array for k, array in enumerate(arrays)}
        made, _ = spelled_values(model, feeds)
        assert not isinstance(made, str), made
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        for one, other in zip(made, session.run(None, feeds), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=2e-5 * np.abs(other).max())


def test_every_fused_operator_has_a_case():
    fused = {name.partition("::")[2] for name in MEANINGS.spelled if "::" in name}
    assert fused | {"SimplifiedLayerNormalization"} == set(CASES)


@pytest.mark.parametrize(
    ("op", "arrays", "stated"),
    [
        ("FusedConv", (IMAGE, KERNEL), {**WINDOW, "activation": "Softsign"}),
        ("FusedConv", (IMAGE, KERNEL), {**WINDOW, "activation": "LeakyRelu"}),
        ("FusedGemm", (ROW[0], f(8, 5)), {"activation": "LeakyRelu", "activation_beta": 0.3}),
        ("FusedGemm", (ROW[0], f(8, 5)), {"activation": "Relu", "activation_alpha": 0.3}),
        ("FusedMatMul", (f(2, 3, 4), f(2, 4, 5)), {"transBatchA": 1}),
        ("SkipLayerNormalization", (ROW, ROW, f(8)), {"outputs": (0, 1)}),
    ],
)
def test_other_activations_and_statistics_have_no_meaning(op, arrays, stated):
    feeds = {f"x{k}": array for k, array in enumerate(arrays)}
    found, _ = spelled_values(built(op, arrays, stated), feeds)
    assert isinstance(found, str)

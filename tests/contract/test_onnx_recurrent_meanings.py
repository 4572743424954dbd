"""What a proof takes ONNX's recurrent layers to mean, held to ONNX Runtime's kernels."""

from __future__ import annotations

import numpy as np
import pytest

from recurrent_models import BATCH, GATES, STEPS, recurrent
from spelled_values import spelled_values

ort = pytest.importorskip("onnxruntime")

CASES = {
    f"{op} {direction} {where}": (op, {"direction": direction, **options})
    for op in GATES
    for direction in ("forward", "reverse", "bidirectional")
    for where, options in (
        ("plain", {"biases": False, "starts": False}),
        ("with biases and states", {}),
        ("of whole sequences", {"lengths": [STEPS] * BATCH}),
    )
}
CASES |= {
    "GRU reset behind the product": ("GRU", {"linear_before_reset": 1}),
    "GRU both ways": ("GRU", {"linear_before_reset": 1, "direction": "bidirectional"}),
    "RNN with a ReLU": ("RNN", {"activations": ["Relu"]}),
    "LSTM with other activations": ("LSTM", {"activations": ["Sigmoid", "Relu", "Tanh"]}),
    "LSTM with a sigmoid cell": (
        "LSTM", {"activations": ["Tanh", "Sigmoid", "Relu", "Sigmoid", "Tanh", "Tanh"],
                 "direction": "bidirectional"},
    ),
}  # fmt: skip

REFUSED = {
    "lengths": ("LSTM", {"lengths": [STEPS, STEPS - 1]}),
    "a clip": ("LSTM", {"clip": 1.0}),
    "coupled gates": ("LSTM", {"input_forget": 1}),
    "parameters": (
        "RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.2]},
    ),
    "another activation": ("GRU", {"activations": ["HardSigmoid", "Tanh"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_layer_means_what_the_kernel_computes(name):
    op, options = CASES[name]
    model, feeds = recurrent(op, **options)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    made, _ = spelled_values(model, feeds)
    assert not isinstance(made, str), made
    for one, other in zip(made, session.run(None, feeds), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_known_of_a_layer_is_refused(name):
    op, options = REFUSED[name]
    model, feeds = recurrent(op, **options)
    made, _ = spelled_values(model, feeds)
    assert isinstance(made, str)

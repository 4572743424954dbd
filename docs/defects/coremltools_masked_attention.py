"""Core ML Tools 9.0 gives a fully masked row of attention the mean of all values; PyTorch gives 0.

A boolean mask becomes finite numbers (-3e4 where it is False), so a row without any True is an
even softmax. Seen with coremltools 9.0 and torch 2.13.0 on Linux; no Mac is needed: the script
reads the program and evaluates its mask with NumPy.

    python coremltools_masked_attention.py
"""

import coremltools as ct
import numpy as np
import torch


class Attention(torch.nn.Module):
    def forward(self, x, mask):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, mask > 0)


x = torch.randn(1, 1, 4, 8, generator=torch.Generator().manual_seed(0))
mask = torch.tensor([[0] * 4] + [[1] * 4] * 3, dtype=torch.int32)
print("PyTorch, masked row:", Attention()(x, mask)[0, 0, 0].numpy().round(3))
model = ct.convert(
    torch.jit.trace(Attention(), (x, mask)),
    inputs=[
        ct.TensorType(name="x", shape=x.shape),
        ct.TensorType(name="mask", shape=mask.shape, dtype=np.int32),
    ],
    convert_to="mlprogram",
    compute_precision=ct.precision.FLOAT32,
    skip_model_load=True,
)
print(model._mil_program)
scores = (x @ x.mT / 8**0.5)[0, 0].double().numpy() + np.where(mask.numpy() > 0, 0.0, -3e4)
weights = np.exp(scores - scores.max(1, keepdims=True))
weights /= weights.sum(1, keepdims=True)
print("the program, masked row:", (weights @ x[0, 0].double().numpy())[0].round(3))

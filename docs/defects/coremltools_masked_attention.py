"""Core ML Tools gives attention that sees no key the mean of all values; PyTorch gives zeros.

A boolean mask becomes finite numbers (-30000 where it is False), so a row without any True is an
even softmax. No Mac is needed: the script reads the number from the converted program.
"""

import sys

import coremltools
import numpy as np
import torch


class Attention(torch.nn.Module):
    """Attention under a mask."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """A row of zeros in the mask sees no key."""
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, mask > 0)


x = torch.randn(1, 1, 4, 8, generator=torch.Generator().manual_seed(0))
mask = torch.tensor([[0] * 4] + [[1] * 4] * 3, dtype=torch.int32)
right = Attention()(x, mask)[0, 0, 0].double().numpy()
model = coremltools.convert(
    torch.jit.trace(Attention().eval(), (x, mask)),
    inputs=[
        coremltools.TensorType(name="x", shape=x.shape),
        coremltools.TensorType(name="mask", shape=mask.shape, dtype=np.int32),
    ],
    convert_to="mlprogram",
    compute_precision=coremltools.precision.FLOAT32,
    skip_model_load=True,
)
(function,) = model.get_spec().mlProgram.functions.values()
operations = function.block_specializations[function.opset].operations
numbers = [
    number
    for each in operations
    if each.type == "const"
    for number in each.attributes["val"].immediateValue.tensor.floats.values
]
hidden = min(numbers)
scores = (x @ x.mT / 8**0.5)[0, 0, 0].double().numpy() + hidden
weights = np.exp(scores - scores.max())
converted = weights / weights.sum() @ x[0, 0].double().numpy()
print(f"coremltools {coremltools.__version__}, torch {torch.__version__}")
print("added where the mask is False:", hidden)
print("right:    ", right.round(3))
print("converted:", converted.round(3))
sys.exit(0 if np.isfinite(hidden) and not np.allclose(converted, right, atol=1e-3) else 1)

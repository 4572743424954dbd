"""Core ML Tools converts 1/x to 1/(x + 1e-4), which is 9 % off at x = 0.001.

torch.reciprocal, and 1.0 / x which is traced to it, become MIL's operator `inverse`. Its epsilon
is 1e-4 unless the converter states another, and it states none. No Mac is needed: the script reads
the converted program and computes what it says.
"""

import sys

import coremltools
import numpy as np
import torch


class Reciprocal(torch.nn.Module):
    """1/x."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One over each number."""
        return torch.reciprocal(x)


x = torch.tensor([1.0, 0.1, 0.01, 0.001])
model = coremltools.convert(
    torch.jit.trace(Reciprocal().eval(), (x,)),
    inputs=[coremltools.TensorType(name="x", shape=x.shape)],
    convert_to="mlprogram",
    compute_precision=coremltools.precision.FLOAT32,
    skip_model_load=True,
)
(function,) = model.get_spec().mlProgram.functions.values()
operations = function.block_specializations[function.opset].operations
stored = {each.outputs[0].name: each.attributes["val"] for each in operations}
found = [each for each in operations if each.type == "inverse"]
name = found[0].inputs["epsilon"].arguments[0].name if found else ""
epsilon = stored[name].immediateValue.tensor.floats.values[0] if found else 0.0
right = 1.0 / x.double().numpy()
converted = 1.0 / (x.double().numpy() + epsilon)
print(f"coremltools {coremltools.__version__}, torch {torch.__version__}")
print("the program computes: ", f"1 / (x + {epsilon:g})")
print("right:                ", right)
print("converted:            ", converted.round(5))
sys.exit(0 if np.max(np.abs(converted / right - 1.0)) > 1e-3 else 1)

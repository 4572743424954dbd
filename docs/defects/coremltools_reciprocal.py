"""Core ML Tools 9.0 converts 1/x to 1/(x + 1e-4): 9 % off at x = 0.001.

torch.reciprocal, and 1.0 / x which is traced to it, become MIL's operator `inverse`, whose
epsilon is 1e-4 unless it is stated, and the converter states none of its own. Seen with
coremltools 9.0 and torch 2.13.0 on Linux; no Mac is needed: the script reads the program.

    python coremltools_reciprocal.py
"""

import coremltools as ct
import numpy as np
import torch


class Reciprocal(torch.nn.Module):
    def forward(self, x):
        return torch.reciprocal(x)


x = torch.tensor([1.0, 0.1, 0.01, 0.001])
model = ct.convert(
    torch.jit.trace(Reciprocal(), (x,)),
    inputs=[ct.TensorType(name="x", shape=x.shape)],
    convert_to="mlprogram",
    compute_precision=ct.precision.FLOAT32,
    skip_model_load=True,
)
(function,) = model.get_spec().mlProgram.functions.values()
operations = function.block_specializations[function.opset].operations
stored = (each for each in operations if each.type == "const")
constants = {each.outputs[0].name: each.attributes["val"] for each in stored}
(inverse,) = (each for each in operations if each.type == "inverse")
stated = constants[inverse.inputs["epsilon"].arguments[0].name]
(epsilon,) = stated.immediateValue.tensor.floats.values
print(f"the program computes 1 / (x + {epsilon:g})")
for one in x.numpy().astype(np.float64):
    right, converted = 1 / one, 1 / (one + epsilon)
    share = 1 - converted / right
    print(f"x = {one:<6g} 1/x = {right:<8g} converted: {converted:<9.6g} off by {share:.2%}")

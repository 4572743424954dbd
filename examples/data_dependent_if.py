"""What becomes of a Python ``if`` on the data when a PyTorch model is exported to ONNX?

The folklore: it becomes an ONNX ``If``, with subtle differences between frameworks.

Measured, for ``x * 2 if x.mean() > 0 else x + 1``, exported with a positive example:

- the present exporter (dynamo=True) refuses, and says so;
- the older one (dynamo=False) finishes and is wrong: the file holds only the branch that the
  example took. On positive inputs isomorph finds it equivalent, so a test with the example alone
  proves nothing; on negative ones it is divergent;
- TorchScript keeps the branch, and so does the older exporter when it is given TorchScript;
- the present exporter writes a real ``If`` when the model says ``torch.cond``.

The last three are equivalent on either branch. Nothing about it is subtle.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from building import export, quiet
from showing import Facts, show

import isomorph


class PythonIf(torch.nn.Module):
    """A branch that only Python sees."""

    def forward(self, x):
        """Either branch."""
        if x.mean() > 0:
            return x * 2
        return x + 1


class GraphIf(torch.nn.Module):
    """The same branch as an operator."""

    def forward(self, x):
        """Either branch."""
        return torch.cond(x.mean() > 0, lambda x: x * 2, lambda x: x + 1, (x,))


def main() -> Facts:
    example = (torch.linspace(0.1, 1.0, 10),)
    names = {"input_names": ["x"], "output_names": ["y"]}
    with TemporaryDirectory() as name:
        folder = Path(name)
        try:
            export(PythonIf(), example, folder / "refused.onnx", dynamo=True, **names)
            refused = ""
        except torch.onnx.OnnxExporterError as error:
            refused = type(error).__name__
        with quiet():
            script = torch.jit.script(PythonIf())
            script.save(folder / "script.pt")
        models = {
            "TorchScript": folder / "script.pt",
            "legacy, traced": export(
                PythonIf(), example, folder / "traced.onnx", dynamo=False, **names
            ),
            "legacy, TorchScript": export(
                script, example, folder / "script.onnx", dynamo=False, **names
            ),
            "dynamo, torch.cond": export(
                GraphIf(), example, folder / "cond.onnx", dynamo=True, **names
            ),
        }
        positive = example[0].numpy()
        facts: Facts = {
            way: {
                "branch of the example": _verdict(model, positive),
                "the other branch": _verdict(model, -positive),
            }
            for way, model in models.items()
        }
        for way in list(models)[1:]:
            nodes = isomorph.inspect(models[way]).graph.nodes
            facts[way]["has an If"] = any(node.op == "If" for node in nodes)
    facts["dynamo says of the Python if"] = refused
    return facts


def _verdict(model: Path, x: np.ndarray) -> str:
    """Against what Python itself computes, recorded."""
    recorded = model.with_suffix(".npz")
    np.savez(recorded, y=PythonIf()(torch.from_numpy(x)).numpy())
    return isomorph.check(recorded, model, inputs={"x": x}, in_process=True).verdict.value


if __name__ == "__main__":
    show(main())

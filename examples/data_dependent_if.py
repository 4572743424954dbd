"""What becomes of a Python ``if`` on the data when a PyTorch model is exported to ONNX?

The folklore: it becomes an ONNX ``If``, with subtle differences between frameworks.

Measured, for ``x * 2 if x.mean() > 0 else x + 1``, exported with a positive example:

- the present exporter (dynamo=True) refuses, and says so;
- the older one (dynamo=False) finishes and is wrong: the branch the example took is all that the
  file holds. On positive inputs isomorph finds it equivalent, so a test with the example proves
  nothing; on a negative one it is divergent;
- the older one given a TorchScript function, or the present one given ``torch.cond``, writes a
  real ``If``, and both are equivalent on either branch. Nothing about it is subtle.
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
        if x.mean() > 0:
            return x * 2
        return x + 1


class GraphIf(torch.nn.Module):
    """The same branch as an operator."""

    def forward(self, x):
        return torch.cond(x.mean() > 0, lambda x: x * 2, lambda x: x + 1, (x,))


def main() -> Facts:
    positive = np.linspace(0.1, 1.0, 10, dtype=np.float32)
    example = (torch.from_numpy(positive),)
    named = {"input_names": ["x"], "output_names": ["y"]}
    with TemporaryDirectory() as name:
        folder = Path(name)
        try:
            export(PythonIf(), example, folder / "dynamo.onnx", dynamo=True, **named)
            refused = ""
        except torch.onnx.OnnxExporterError as error:
            refused = type(error).__name__
        with quiet():
            script = torch.jit.script(PythonIf())
            script.save(folder / "reference.pt")
        models = {
            "legacy, traced": (PythonIf(), False),
            "legacy, TorchScript": (script, False),
            "dynamo, torch.cond": (GraphIf(), True),
        }
        facts: Facts = {
            way: _row(
                folder / "reference.pt",
                export(module, example, folder / f"{place}.onnx", dynamo=dynamo, **named),
                positive,
            )
            for place, (way, (module, dynamo)) in enumerate(models.items())
        }
    facts["dynamo says of the Python if"] = refused
    return facts


def _row(reference: Path, model: Path, positive: np.ndarray) -> dict:
    """Whether an If survived, and the verdict on either branch."""
    nodes = isomorph.inspect(model).graph.nodes
    return {
        "has an If": any(node.op == "If" for node in nodes),
        "branch of the example": _verdict(reference, model, positive),
        "the other branch": _verdict(reference, model, -positive),
    }


def _verdict(reference: Path, model: Path, x: np.ndarray) -> str:
    return isomorph.check(reference, model, inputs={"x": x}).verdict.value


if __name__ == "__main__":
    show(main())

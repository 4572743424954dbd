"""How do I compare a model with outputs that were recorded elsewhere, and what is "close"?

The folklore: compute the largest absolute difference, and call 1e-5 significant.

Measured on one network whose outputs are multiplied by 1000 or by 1e-6: with the large outputs a
faithful export is 2e-4 off, twenty times "significant", and that is pure rounding; with the small
ones a model without its last bias is 6e-8 off, "close", and that is another function. A typed
tolerance knows nothing of the model. isomorph derives its own from it, and says equivalent of the
faithful export and divergent of the one without the bias, at either scale.

Only arrays are needed: record them where the original runs, compare where it cannot be installed.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from building import export
from showing import Facts, show

import isomorph

TYPED = 1e-5


class Network(torch.nn.Module):
    """Two linear layers and a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 256), torch.nn.Linear(256, 10)
        self.factor = factor

    def forward(self, x):
        """The scaled result."""
        return self.second(torch.relu(self.first(x))) * self.factor


def main() -> Facts:
    facts: Facts = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for factor in (1000.0, 1e-6):
            torch.manual_seed(0)
            network = Network(factor).eval()
            inputs, recorded = _record(network, folder)
            for title, spoilt in (("faithful", False), ("bias lost", True)):
                if spoilt:
                    torch.nn.init.zeros_(network.second.bias)
                model = export(
                    network, (torch.zeros(16, 64),), folder / "model.onnx",
                    dynamo=True, input_names=["x"], output_names=["y"],
                )  # fmt: skip
                report = isomorph.check(recorded, model, inputs=inputs, in_process=True)
                facts[f"{title}, outputs × {factor:g}"] = _row(report)
    return facts


def _record(network: Network, folder: Path) -> tuple[Path, Path]:
    """Inputs and outputs as two files of arrays by name; nothing of PyTorch is left in them."""
    x = torch.randn(16, 64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        np.savez(folder / "outputs.npz", y=network(x).numpy())
    np.savez(folder / "inputs.npz", x=x.numpy())
    return folder / "inputs.npz", folder / "outputs.npz"


def _row(report) -> dict:
    (output,) = report.outputs
    largest = output.observed.distance.max_abs
    return {
        "max difference": largest,
        f"by {TYPED:g}": "different" if largest > TYPED else "close",
        "by isomorph": report.verdict.value,
    }


if __name__ == "__main__":
    show(main())

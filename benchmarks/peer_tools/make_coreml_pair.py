"""A pair of Core ML: 1/x becomes 1/(x + 1e-4) in the converter.

python benchmarks/peer_tools/make_coreml_pair.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import coremltools
import numpy as np
import torch

from peer_tools.pairs import Pair


class Normalized(torch.nn.Module):
    """Rows divided by their largest number."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A reciprocal between two plain steps."""
        return torch.relu(x) * torch.reciprocal(x.abs().amax(1, keepdim=True))


def main() -> None:
    place = Path(sys.argv[1]) / "coreml_reciprocal"
    place.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    module, x = Normalized().eval(), 0.01 * torch.randn(4, 8)
    program = torch.export.export(module, (x,))
    torch.export.save(program, place / "model.pt2")
    np.savez(place / "inputs.npz", x=x.numpy())
    model = coremltools.convert(
        torch.jit.trace(module, (x,)),
        inputs=[coremltools.TensorType(name="x", shape=x.shape)],
        convert_to="mlprogram",
        compute_precision=coremltools.precision.FLOAT32,
        skip_model_load=True,
    )
    model.save(str(place / "model.mlpackage"))
    (name,) = (node.name for node in program.graph.nodes if "reciprocal" in node.name)
    Pair(
        name="coreml_reciprocal", title="PyTorch → Core ML, a reciprocal", faulty=(name,),
        reference="model.pt2", candidate="model.mlpackage", inputs="inputs.npz",
    ).write(place)  # fmt: skip


if __name__ == "__main__":
    main()

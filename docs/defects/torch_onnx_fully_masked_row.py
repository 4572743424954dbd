"""torch.onnx.export writes another function for an attention row that sees no key.

PyTorch gives zeros for it; the exported graph gives the mean of all values.
"""

import io
import sys
import warnings

import numpy as np
import onnxruntime
import torch


class Attended(torch.nn.Module):
    """An attention with a mask: true where a key is seen."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Queries, keys and values are the same."""
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def exported(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> bytes:
    """The ONNX model, without the messages of the exporter."""
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(module, inputs, dynamo=True, verbose=False)
    program.save(stream)
    return stream.getvalue()


def main() -> int:
    """Compare PyTorch with its own export, at the row that sees nothing."""
    torch.manual_seed(0)
    module, x = Attended().eval(), torch.randn(1, 1, 4, 8)
    mask = torch.ones(1, 1, 4, 4, dtype=torch.bool)
    mask[0, 0, 2] = False
    session = onnxruntime.InferenceSession(
        exported(module, (x, mask)), providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in session.get_inputs()]
    (found,) = session.run(None, dict(zip(names, (x.numpy(), mask.numpy()), strict=True)))
    right = module(x, mask).numpy()
    print(f"torch {torch.__version__}")
    print("PyTorch, row 2:", right[0, 0, 2, :4])
    print("export, row 2: ", np.asarray(found)[0, 0, 2, :4])
    print("mean of values:", x.numpy()[0, 0].mean(axis=0)[:4])
    return 1 if np.allclose(found, right, atol=1e-6) else 0


if __name__ == "__main__":
    sys.exit(main())

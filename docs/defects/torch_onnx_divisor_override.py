"""torch.onnx.export drops divisor_override: the average pool divides by the size of its window."""

import io
import sys
import warnings

import numpy as np
import onnxruntime
import torch


class Pooled(torch.nn.Module):
    """A third of the sum of four neighbors."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Divide by 3 instead of 4."""
        return torch.nn.functional.avg_pool2d(x, 2, divisor_override=3)


def exported(module: torch.nn.Module, x: torch.Tensor) -> bytes:
    """The ONNX model, without the messages of the exporter."""
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(module, (x,), dynamo=True, verbose=False)
    program.save(stream)
    return stream.getvalue()


def main() -> int:
    """Compare PyTorch with its own export."""
    module, x = Pooled().eval(), torch.ones(1, 1, 4, 4)
    session = onnxruntime.InferenceSession(exported(module, x), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    right = module(x).numpy()
    print(f"torch {torch.__version__}")
    print("PyTorch:", right.reshape(-1))
    print("export: ", np.asarray(found).reshape(-1))
    return 1 if np.allclose(found, right) else 0


if __name__ == "__main__":
    sys.exit(main())

"""A crop by negative padding is lowered without a word, and ExecuTorch fails when it runs."""

import sys
from importlib.metadata import version

import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Cropped(torch.nn.Module):
    """A row without its first number."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Cut off by a negative width."""
        return torch.nn.functional.pad(x, (-1, 0))


def main() -> int:
    """Run what PyTorch runs."""
    x = torch.randn(1, 4)
    lowered = to_edge(torch.export.export(Cropped(), (x,))).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    print(f"executorch {version('executorch')}, torch {torch.__version__}")
    print("PyTorch:", Cropped()(x))
    try:
        print("ExecuTorch:", method.execute([x]))
    except RuntimeError as error:
        print("ExecuTorch:", error)
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""ExecuTorch's kernel of div(rounding_mode="floor") gives quotients that are not whole."""

import sys
from importlib.metadata import version

import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Floored(torch.nn.Module):
    """A quotient, rounded down, also as an integer."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Divide."""
        quotient = torch.div(x, y, rounding_mode="floor")
        return quotient, quotient.to(torch.int32)


def main() -> int:
    """Count the quotients that are not whole, and the integers that differ from PyTorch's."""
    torch.manual_seed(0)
    x, y = torch.rand(10_000) * 4 - 2, torch.rand(10_000) + 0.2
    lowered = to_edge(torch.export.export(Floored(), (x, y))).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    quotient, whole = method.execute([x, y])
    right = Floored()(x, y)[1]
    broken, wrong = int((quotient != quotient.round()).sum()), int((whole != right).sum())
    print(f"executorch {version('executorch')}, torch {torch.__version__}")
    print(f"{broken} of {x.numel()} quotients are not whole")
    print(f"{wrong} of {x.numel()} integers differ from PyTorch's")
    return 0 if wrong else 1


if __name__ == "__main__":
    sys.exit(main())

"""ExecuTorch 1.5.1: ``torch.nonzero`` of two axes or more gives its numbers in another order.

The kernel writes the places row by row, and the program's output is read column by column (its
strides are 1 and the number of rows). With one axis both are the same.

    pip install executorch==1.5.1 torch==2.13.0
    python executorch_nonzero.py
"""

# ruff: noqa: ANN001, ANN201, D101, D102, D103
import sys

import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Places(torch.nn.Module):
    def forward(self, x):
        return torch.nonzero(x > 0)


def main():
    x = torch.arange(6).reshape(2, 3) % 3
    program = to_edge(torch.export.export(Places(), (x,))).to_executorch()
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    found, right = method.execute([x])[0], Places()(x)
    print("torch     ", right.tolist())
    print("executorch", found.tolist(), "strides", found.stride())
    return 0 if not torch.equal(found, right) else 1


if __name__ == "__main__":
    sys.exit(main())

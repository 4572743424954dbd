"""ExecuTorch's kernel of div(rounding_mode="floor") returns numbers that are not whole.

executorch 1.5.1, torch 2.13.0: results of portable kernels are off a whole number by up to 2.4e-7,
and become the number below once they are cast to an integer.
"""

from __future__ import annotations

import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Net(torch.nn.Module):
    def forward(self, x, y):
        found = torch.div(x, y, rounding_mode="floor")
        return found, found.to(torch.int32)


def main():
    torch.manual_seed(0)
    x, y = torch.rand(10_000) * 4 - 2, torch.rand(10_000) + 0.2
    lowered = to_edge(torch.export.export(Net(), (x, y))).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    found, whole = method.execute([x, y])
    expected, expected_whole = Net()(x, y)
    print(f"{int((found != found.round()).sum())} of 10000 quotients are no whole numbers")
    print(f"{int((whole != expected_whole).sum())} of 10000 integers differ from PyTorch's")
    print(f"the quotients differ by up to {(found - expected).abs().max():.1e}")


if __name__ == "__main__":
    main()

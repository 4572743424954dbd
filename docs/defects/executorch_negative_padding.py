"""A crop by negative padding is lowered without a word and fails when it runs.

executorch 1.5.1, torch 2.13.0: `aten::constant_pad_nd.out` refuses negative widths, which PyTorch
defines as cutting off.
"""

from __future__ import annotations

import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.pad(x, (-1, 0))


def main():
    x = torch.randn(1, 4)
    lowered = to_edge(torch.export.export(Net(), (x,))).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    print("PyTorch:", Net()(x))
    try:
        print("ExecuTorch:", method.execute([x]))
    except RuntimeError as error:
        print("ExecuTorch:", error)


if __name__ == "__main__":
    main()

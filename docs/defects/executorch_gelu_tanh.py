"""XNNPACK's partitioner lowers the tanh approximation of GELU as the exact GELU.

executorch 1.5.1, torch 2.13.0. The portable program follows PyTorch within 1e-6; the one with
XNNPACK is off by 2e-4 at inputs around 2 and says nothing. `isomorph check` names the node
`xnnpack_0/Gelu:0`.
"""

from __future__ import annotations

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")


def main():
    x = torch.linspace(-4, 4, 801)
    program = torch.export.export(Net(), (x,))
    expected = Net()(x)
    for name, partitioner in (("portable", []), ("XNNPACK", [XnnpackPartitioner()])):
        lowered = to_edge_transform_and_lower(program, partitioner=partitioner).to_executorch()
        method = Runtime.get().load_program(lowered.buffer).load_method("forward")
        error = (method.execute([x])[0] - expected).abs().max()
        exact = (method.execute([x])[0] - torch.nn.functional.gelu(x)).abs().max()
        print(f"{name}: off by {error:.1e} from the tanh form, by {exact:.1e} from the exact form")


if __name__ == "__main__":
    main()

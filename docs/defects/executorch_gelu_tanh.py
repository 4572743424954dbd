"""XNNPACK's partitioner lowers the tanh approximation of GELU as the exact GELU."""

import sys
from importlib.metadata import version

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class Approximated(torch.nn.Module):
    """GELU by tanh, as GPT-2 has it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply it."""
        return torch.nn.functional.gelu(x, approximate="tanh")


def main() -> int:
    """Compare PyTorch with the program for portable kernels and with the one for XNNPACK."""
    x = torch.linspace(-4, 4, 801)
    program = torch.export.export(Approximated(), (x,))
    right, errors = Approximated()(x), []
    print(f"executorch {version('executorch')}, torch {torch.__version__}")
    for name, partitioner in (("portable", []), ("XNNPACK", [XnnpackPartitioner()])):
        lowered = to_edge_transform_and_lower(program, partitioner=partitioner).to_executorch()
        method = Runtime.get().load_program(lowered.buffer).load_method("forward")
        found = method.execute([x])[0]
        errors.append(float((found - right).abs().max()))
        exact = float((found - torch.nn.functional.gelu(x)).abs().max())
        print(f"{name}: off by {errors[-1]:.1e} from the tanh form, {exact:.1e} from the exact one")
    return 0 if errors[1] > 100 * errors[0] else 1


if __name__ == "__main__":
    sys.exit(main())

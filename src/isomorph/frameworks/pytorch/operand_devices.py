"""Operators whose operands lie on several devices: the result is moved back to the CPU.

The values of an oracle lie on the CPU. A large constant may lie on an accelerator, where the
product with it is computed: the other operands are moved there first.
"""

from __future__ import annotations

from typing import Any

import torch

from isomorph.frameworks.pytorch.affine_quantizers import affine
from isomorph.frameworks.pytorch.convolution import convolved
from isomorph.frameworks.pytorch.interpreter import call_target
from isomorph.frameworks.pytorch.products import multiplied
from isomorph.frameworks.pytorch.program import Step

CPU = torch.device("cpu")


def call_on_one_device(step: Step, arguments: list[Any], named: dict[str, Any]) -> Any:  # noqa: ANN401
    """The operator on its operands; they are moved to the accelerator that one of them is on."""
    device = _accelerator([*arguments, *named.values()])
    if device is None:
        found = affine(step, arguments, named)
        if found is not None:
            return found
        # NumPy computes convolutions and products faster, but records no gradient.
        if not torch.is_grad_enabled():
            found = convolved(step, arguments, named)
            if found is None:
                found = multiplied(step, arguments, named)
        return call_target(step, arguments, named) if found is None else found
    result = call_target(
        step,
        [moved(each, device) for each in arguments],
        {key: moved(each, device) for key, each in named.items()},
    )
    return moved(result, CPU)


def moved(value: Any, device: torch.device) -> Any:  # noqa: ANN401
    """Every tensor inside ``value`` on this device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(moved(each, device) for each in value)
    return value


def device_share(device: torch.device) -> int:
    """Half of the memory that is free on an accelerator: two oracles may use it; 0 for the CPU."""
    return torch.cuda.mem_get_info(device)[0] // 2 if device.type == "cuda" else 0


def _accelerator(values: list[Any]) -> torch.device | None:
    for value in values:
        if isinstance(value, torch.Tensor) and value.device != CPU:
            return value.device
        if isinstance(value, (list, tuple)) and (found := _accelerator(list(value))) is not None:
            return found
    return None

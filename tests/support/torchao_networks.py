"""A small network whose weights torchao quantizes, as exported programs."""

import warnings
from pathlib import Path

import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torchao.quantization as ao
    from torchao.utils import unwrap_tensor_subclass

GROUPS = ao.PerGroup(32)
KINDS = {
    "int8": ao.Int8WeightOnlyConfig,
    "int8 dynamic": ao.Int8DynamicActivationInt8WeightConfig,
    "int4": lambda: ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=GROUPS),
    "int4 rows": lambda: ao.IntxWeightOnlyConfig(
        weight_dtype=torch.int4, granularity=ao.PerAxis(0)
    ),
    "int4 asymmetric": lambda: ao.IntxWeightOnlyConfig(
        weight_dtype=torch.int4, granularity=GROUPS, mapping_type=ao.MappingType.ASYMMETRIC
    ),
    "int2": lambda: ao.IntxWeightOnlyConfig(weight_dtype=torch.int2, granularity=GROUPS),
    "int8 dynamic, int4": lambda: ao.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=GROUPS
    ),
}
STORED = "down.parametrizations.weight.original"
"""Integers, scales and zero points of a weight, with 0, 1 and 2 behind."""


class Network(torch.nn.Module):
    """A normalized layer of two products beside its input, and a head."""

    def __init__(self, epsilon=1e-5):
        super().__init__()
        self.norm = torch.nn.LayerNorm(64, eps=epsilon)
        self.up = torch.nn.Linear(64, 128)
        self.down = torch.nn.Linear(128, 64, bias=False)
        self.head = torch.nn.Linear(64, 32)

    def forward(self, x):
        return self.head(x + self.down(torch.relu(self.up(self.norm(x)))))


def network(**options):
    """The float network."""
    torch.manual_seed(0)
    return Network(**options).eval()


def example():
    """An input of the network."""
    return torch.randn(8, 64, generator=torch.Generator().manual_seed(1))


def quantized(kind, *, whole=False, **options):
    """The exported program; ``whole`` keeps torchao's own class of tensors."""
    module = network(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ao.quantize_(module, KINDS[kind]())
        if not whole:
            unwrap_tensor_subclass(module)
        return torch.export.export(module, (example(),))


def saved(exported, path: Path):
    """A program in a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(exported, path)
    return path


def changed(kind, change, **options):
    """A quantized program after ``change`` has altered its stored tensors."""
    exported = quantized(kind, **options)
    change(exported.state_dict)
    return exported

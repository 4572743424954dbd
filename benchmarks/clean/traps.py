"""Right conversions that look wrong: tables and weights made in the graph, odd types, routing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from clean.case import Case, Draw, Feeds, Formula, formula, normal, stack, uniform
from clean.vision import trained


class ComputedPositions(nn.Module):
    """Sinusoids of a table that the graph itself makes; far out, float32 angles are coarse."""

    def __init__(self, width: int = 16, first: int = 8000) -> None:
        super().__init__()
        self.width, self.first = width, first
        self.mix = nn.Linear(width, 8)

    def forward(self, x: Tensor) -> Tensor:
        place = torch.arange(self.first, self.first + x.shape[1], dtype=torch.float32)
        rate = torch.exp(torch.arange(0, self.width, 2) * (-math.log(1e4) / self.width))
        angle = place[:, None] * rate
        return self.mix(x + torch.cat([angle.sin(), angle.cos()], dim=-1))


class StandardizedWeights(nn.Module):
    """Weights that are normalized in the graph: exporters fold that, and round once more."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(5.0 + 0.1 * torch.randn(8, 3, 3, 3))

    def forward(self, x: Tensor) -> Tensor:
        flat = self.weight.flatten(1)
        centered = flat - flat.mean(dim=1, keepdim=True)
        scaled = centered / (centered.pow(2).mean(dim=1, keepdim=True) + 1e-10).sqrt()
        return functional.conv2d(x, scaled.view_as(self.weight), padding=1)


class Experts(nn.Module):
    """Each row goes to the two experts it scores highest."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(16, 6)
        self.experts = nn.Parameter(torch.randn(6, 16, 8))

    def forward(self, x: Tensor) -> Tensor:
        share, chosen = torch.topk(torch.softmax(self.router(x), -1), 2, dim=-1)
        outputs = torch.einsum("bi,bkio->bko", x, self.experts[chosen])
        return (share[..., None] * outputs).sum(dim=1)


class Branching(nn.Module):
    """One of two branches, by a decision on the data."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.exp(), lambda y: torch.sin(y) - 1.0, (x,))


class Double(nn.Module):
    """A network in float64: its oracle rounds exactly as much as its run."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8), nn.Softmax(-1))
        self.layers.double()

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def _tiny_variance() -> list[nn.Module]:
    """A channel that never moved in training is scaled by hundreds."""
    norm = trained(nn.BatchNorm2d(8))
    norm.running_var[::2] = 1e-8
    return [nn.Conv2d(3, 8, 3), norm, nn.Conv2d(8, 4, 3)]


def _naive_variance(x: Tensor) -> Tensor:
    return (x * x).mean(-1) - x.mean(-1) ** 2


def _resized_oddly(x: Tensor) -> Any:
    return (
        functional.interpolate(x, scale_factor=0.7, mode="bilinear"),
        functional.interpolate(x, scale_factor=1.3, mode="nearest"),
        functional.interpolate(x, scale_factor=1.7, mode="bicubic", align_corners=True),
        functional.interpolate(x, size=(7, 23), mode="bicubic"),
    )


def _scattered(x: Tensor) -> Any:
    place = torch.arange(x.shape[1]).remainder(7).expand_as(x)
    summed = torch.zeros(x.shape[0], 7).scatter_add(1, place, x)
    ordered = torch.sort(x, dim=-1)
    return summed, ordered.values, ordered.indices, torch.gather(x, 1, place)


def _remainders(x: Tensor) -> Any:
    # Beside a half tensor 0.1 stays a float32 in torch's floor_divide, and the exporter makes a
    # half of it: a fault, and not ours. 0.375 is the same in both.
    return torch.fmod(x, 0.7), torch.remainder(x, -0.3), torch.floor_divide(x, 0.375), x - x.trunc()


def _logarithms(x: Tensor) -> Any:
    return (
        torch.log(torch.exp(x).sum(-1)),
        torch.log(torch.softmax(x, -1)),
        torch.logaddexp(x, -x),
        functional.binary_cross_entropy_with_logits(x, torch.sigmoid(3.0 * x)),
        torch.atan2(x, x.flip(-1)),
    )


def _shapes(x: Tensor) -> Any:
    return x[:0] * 2.0, x.sum(), x[:1, :1] + 1.0, x.new_ones(3) * 0.1


def _integers(random: np.random.Generator) -> Feeds:
    return {"x": random.integers(-1000, 1000, (8, 16))}


def _whole_numbers(x: Tensor) -> Any:
    # Of negative numbers the old exporter makes a truncating division: a fault, and not ours.
    return x.abs() // 7, x % 7, x * x - 3, torch.div(x, 7, rounding_mode="trunc"), x.float() / 7.0


def _newton(x: Tensor) -> Tensor:
    root = torch.ones_like(x)
    for _ in range(8):
        root = 0.5 * (root + x / root)
    return root


def _similar(x: Tensor) -> Any:
    other = x + 1e-3 * x.flip(0)
    return functional.cosine_similarity(x, other, dim=-1), (x[:, None] - other[None]).norm(dim=-1)


def _doubles(*shape: int) -> Draw:
    return lambda random: {"x": random.standard_normal(shape)}


CASES = (
    Case(name="positions computed in the graph", build=ComputedPositions, inputs=normal(2, 24, 16)),
    Case(name="weights standardized in the graph", build=StandardizedWeights,
         inputs=normal(1, 3, 12, 12)),
    Case(name="experts", build=Experts, inputs=normal(12, 16)),
    Case(name="branch", build=Branching, inputs=normal(4, 8)),
    Case(name="float64 network", build=Double, inputs=_doubles(8, 32), narrow=False),
    Case(name="float64 formula", build=lambda: Formula(lambda x: (x.exp() + 1e3).log().sum(-1)),
         inputs=_doubles(8, 32), narrow=False),
    stack("BatchNorm of tiny variances", _tiny_variance, normal(2, 3, 16, 16)),
    stack("convolution of length 4608", lambda: [nn.Conv2d(512, 4, 3, padding=1)],
          normal(1, 512, 6, 6)),
    stack("weight normalization",
          lambda: [nn.utils.parametrizations.weight_norm(nn.Linear(64, 32)), nn.SiLU()],
          normal(4, 64)),
    formula("naive variance of offset rows", _naive_variance, normal(8, 64, offset=100.0)),
    formula("resizing by odd factors", _resized_oddly, normal(1, 3, 10, 10)),
    # No scatter of opset 11 adds, and the old exporter writes one that overwrites.
    formula("scatter, sort, gather", _scattered, normal(4, 40), lies=("legacy_opset_11",)),
    formula("remainders", _remainders, normal(8, 32, scale=3.0)),
    formula("logarithms", _logarithms, normal(8, 32)),
    formula("empty and scalar outputs", _shapes, normal(4, 6)),
    formula("whole numbers", _whole_numbers, _integers),
    formula("Newton's root", _newton, uniform(8, 32, low=0.01, high=9.0)),
    formula("similar vectors", _similar, normal(8, 24)),
)  # fmt: skip

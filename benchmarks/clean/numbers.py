"""Formulas chosen for their numbers: cancellation, extremes, long sums, edges, decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from clean.case import Case, Feeds, formula, normal, stack, uniform

ACTIVATIONS: tuple[type[nn.Module], ...] = (
    nn.ReLU, nn.Sigmoid, nn.Tanh, nn.GELU, nn.SiLU, nn.Mish, nn.Softplus, nn.ELU, nn.SELU, nn.CELU,
    nn.Hardswish, nn.Hardsigmoid, nn.LeakyReLU, nn.Softsign, nn.LogSigmoid, nn.Tanhshrink,
    nn.Hardtanh, nn.Softshrink,
)  # fmt: skip


def _perceptron() -> list[nn.Module]:
    layers: list[nn.Module] = [nn.Linear(16, 32)]
    for activation in ACTIVATIONS:
        layers += [activation(), nn.Linear(32, 32)]
    return layers


def _deep(depth: int, activation: type[nn.Module]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for _ in range(depth):
        linear = nn.Linear(24, 24)
        nn.init.orthogonal_(linear.weight)
        layers += [linear, activation()]
    return layers


def _all_activations(x: Tensor) -> Any:
    return tuple(activation()(x) for activation in ACTIVATIONS)


def _tails(x: Tensor) -> Any:
    """Without LogSigmoid: exported as Log of Sigmoid, it is −inf where it should be −20."""
    kept = [activation for activation in ACTIVATIONS if activation is not nn.LogSigmoid]
    return tuple(activation()(x) for activation in kept)


def _logistic_map(x: Tensor) -> Tensor:
    """Chaos: each step doubles the error, and twelve of them are still a fair question."""
    for _ in range(12):
        x = 3.9 * x * (1.0 - x)
    return x


def _expanded_power(x: Tensor) -> Tensor:
    """(x − 1)⁷ multiplied out: near 1 nothing is left but rounding."""
    total = torch.full_like(x, -1.0)
    for power, factor in enumerate((7.0, -21.0, 35.0, -35.0, 21.0, -7.0, 1.0), start=1):
        total = total + factor * x**power
    return total


def _decisions(x: Tensor) -> Any:
    centered = x - x.mean(dim=-1, keepdim=True)
    return (
        torch.where(centered > 0, centered, -0.5 * centered),
        centered.argmax(dim=-1),
        centered > 0.25,
        torch.topk(centered, 3, dim=-1).values,
        torch.round(centered * 4.0),
        torch.floor(x * 3.0),
    )


def _special(x: Tensor) -> Any:
    return torch.log(x), 1.0 / torch.relu(x), torch.sqrt(x), x / torch.zeros_like(x)


def _elementary(x: Tensor) -> Any:
    size = x.abs() + 0.1
    return (
        torch.exp(x), torch.log(size), torch.sin(x), torch.cos(x), torch.tan(x), torch.atan(x),
        torch.erf(x), size**2.3, torch.rsqrt(size), torch.expm1(x), torch.log1p(size), x**3,
        torch.sinh(x), torch.asinh(x), torch.exp2(x), torch.reciprocal(size),
    )  # fmt: skip


def _statistics(x: Tensor) -> Any:
    return (
        x.mean(-1), x.var(-1), x.std(-1, unbiased=False), x.logsumexp(-1), x.norm(dim=-1),
        x.prod(-1), x.amax(-1), x.cumsum(-1), x.norm(p=1, dim=-1),
    )  # fmt: skip


def _mixed_scales(x: Tensor) -> Tensor:
    """Tiny and huge features side by side: the budget of one must not serve the other."""
    return x * torch.logspace(-12, 12, x.shape[-1])


def _near_constant(random: np.random.Generator) -> Feeds:
    rows = 7.0 + 1e-5 * random.standard_normal((4, 64))
    return {"x": rows.astype(np.float32)}


def _grid(random: np.random.Generator) -> Feeds:
    """Multiples of a quarter: sums are exact, and ties abound."""
    return {"x": (0.25 * random.integers(0, 8, (16, 32))).astype(np.float32)}


def _distances(x: Tensor) -> Tensor:
    """|a|² + |b|² − 2ab between close points: large terms, small results."""
    square = (x * x).sum(-1)
    return square[:, None] + square[None, :] - 2.0 * (x @ x.transpose(0, 1))


class Interface(nn.Module):
    """Several inputs and outputs of several types."""

    def forward(self, x: Tensor, count: Tensor, keep: Tensor) -> Any:
        kept = torch.where(keep, x, torch.zeros_like(x))
        return kept.sum(-1), count * 2 + 1, ~keep, kept * count[:, None]


def _interface_inputs(random: np.random.Generator) -> Feeds:
    return {
        "x": random.standard_normal((4, 6)).astype(np.float32),
        "count": random.integers(-5, 5, 4),
        "keep": random.random((4, 6)) < 0.5,
    }


CASES = (
    stack("perceptron of all activations", _perceptron, normal(8, 16)),
    stack("40 layers of tanh", lambda: _deep(40, nn.Tanh), normal(8, 24)),
    stack("60 layers of ReLU", lambda: _deep(60, nn.ReLU), normal(8, 24)),
    stack("products of length 4096", lambda: [nn.Linear(4096, 16)], normal(2, 4096)),
    stack(
        "softmax head over 1000 classes",
        lambda: [nn.Linear(64, 1000), nn.Softmax(-1)],
        normal(2, 64, scale=10.0),
    ),
    stack("LayerNorm of offset rows", lambda: [nn.LayerNorm(64)], normal(4, 64, offset=1e3)),
    stack("LayerNorm of near-constant rows", lambda: [nn.LayerNorm(64)], _near_constant),
    Case(name="inputs of several types", build=Interface, inputs=_interface_inputs),
    formula("every activation", _all_activations, normal(4, 64, scale=3.0)),
    formula("tails of activations", _tails, uniform(4, 64, low=-30.0, high=30.0)),
    formula("elementary functions", _elementary, normal(4, 64)),
    formula("statistics", _statistics, normal(4, 40)),
    formula("statistics of offset rows", _statistics, uniform(4, 40, low=0.9, high=1.1)),
    formula("positive sums of length 8192", lambda x: x @ x.transpose(0, 1), uniform(3, 8192)),
    formula("mean of a million", lambda x: x.mean(), uniform(1000, 1000)),
    formula("running sum of 4096", lambda x: torch.cumsum(x, -1), uniform(2, 4096)),
    formula("offset and back", lambda x: (x + 1e4) - 1e4, normal(4, 64)),
    formula(
        "offset, product, and back",
        lambda x: (x + 1e3) * (x + 1e3) - 1e6,
        normal(4, 64),
        narrow=False,
    ),
    formula("power multiplied out", _expanded_power, uniform(4, 64, low=0.9, high=1.1)),
    formula("pole", lambda x: 1.0 / (x - 0.5), uniform(4, 64)),
    formula("squared distances of close points", _distances, normal(16, 8, scale=1e-2, offset=3.0)),
    formula("sine of large arguments", lambda x: torch.sin(1e3 * x), normal(4, 64)),
    formula("logistic map", _logistic_map, uniform(4, 64)),
    formula(
        "tiny values",
        lambda x: (x * 1e-20) @ (x * 1e-15).transpose(0, 1),
        normal(8, 32),
        narrow=False,
    ),
    formula("below the smallest normal number", lambda x: x * 1e-39, normal(4, 64), narrow=False),
    formula("huge values", lambda x: (x * 1e18) * (x.flip(0) * 1e19), normal(4, 64), narrow=False),
    formula(
        "at the edge of overflow", torch.exp, uniform(4, 64, low=80.0, high=92.0), narrow=False
    ),
    formula("NaN and infinities", _special, normal(4, 64)),
    formula("mixed scales", _mixed_scales, normal(4, 64), narrow=False),
    formula("sharp softmax", lambda x: torch.softmax(100.0 * x, -1), normal(4, 64)),
    formula("log-softmax of large logits", lambda x: x.log_softmax(-1), normal(4, 64, scale=100.0)),
    formula("normalized vectors", lambda x: functional.normalize(x, dim=-1), normal(4, 64)),
    formula("decisions", _decisions, normal(16, 32)),
    formula("decisions on a grid", _decisions, _grid),
    formula("einsum", lambda x: torch.einsum("bij,bkj->bik", x, x.sin()), normal(2, 8, 64)),
    formula("all dead", lambda x: torch.relu(x - 100.0), normal(4, 64)),
    formula("moved, not computed", lambda x: x.transpose(0, 1).reshape(8, 32), normal(4, 64)),
)

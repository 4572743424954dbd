"""A small network that every route converts: convolutions, a residual sum, a LayerNorm, an MLP."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SmallNetwork(nn.Module):
    """Images of 24×24 pixels, 10 scores; ``gelu`` is how GELU is computed."""

    def __init__(self, gelu: str = "none") -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.first = nn.Conv2d(16, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 16, 3, padding=1)
        self.norm = nn.LayerNorm(16)
        self.wide = nn.Linear(16, 64)
        self.gelu = nn.GELU(approximate=gelu)
        self.head = nn.Linear(64, 10)

    def forward(self, image: Tensor) -> Tensor:
        image = torch.relu(self.stem(image))
        image = image + self.second(torch.relu(self.first(image)))
        rows = self.norm(image.flatten(2).transpose(1, 2))
        return self.head(self.gelu(self.wide(rows)).mean(1))


def built(gelu: str = "none") -> tuple[SmallNetwork, Tensor]:
    """The same weights and the same image in every process."""
    torch.manual_seed(0)
    network = SmallNetwork(gelu).eval()
    # Weights as after training differ from channel to channel; fresh ones hide an exchange.
    with torch.no_grad():
        network.stem.weight.mul_(torch.linspace(0.5, 2.0, 16).reshape(-1, 1, 1, 1))
    return network, torch.rand(1, 3, 24, 24)

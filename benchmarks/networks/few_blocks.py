"""A small residual network: what a benchmark is tried on before it takes minutes."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from networks.torch_networks import Bottleneck, Network


class FewBlocks(nn.Module):
    """Four blocks over an image of 32×32."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.blocks = nn.Sequential(
            Bottleneck(32, 16, 1), Bottleneck(64, 16, 1), Bottleneck(64, 32, 2),
            Bottleneck(128, 32, 1),
        )  # fmt: skip
        self.head = nn.Linear(128, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(image)).mean(dim=(2, 3)))


FEW_BLOCKS = Network(
    name="few_blocks",
    build=FewBlocks,
    input_name="image",
    example=lambda: torch.rand(1, 3, 32, 32),
    source=Path(__file__),
)

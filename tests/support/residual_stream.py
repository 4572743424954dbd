"""A transformer whose residual stream grows by as much as a test wants."""

import torch


class Block(torch.nn.Module):
    """A layer of a transformer without attention, which normalizes before it adds."""

    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        """Add to the residual stream."""
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Transformer(torch.nn.Module):
    """Layers, of which the second adds numbers that are larger by a factor."""

    def __init__(self, factor):
        super().__init__()
        torch.manual_seed(0)
        self.blocks = torch.nn.ModuleList(Block(8) for _ in range(3))
        with torch.no_grad():
            self.blocks[1].down.weight.mul_(factor)

    def forward(self, x):
        """The residual stream after every layer."""
        for block in self.blocks:
            x = block(x)
        return x

"""A decoder of the Llama type: RMSNorm, rotary positions, grouped heads, a gated feed-forward."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sizes of one network; the defaults give 0.85 billion parameters."""

    layers: int = 16
    width: int = 2048
    heads: int = 32
    key_heads: int = 8
    hidden: int = 5632
    words: int = 32000
    tokens: int = 64


class RootMeanSquare(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Attention(nn.Module):
    """Every group of query heads shares one head of keys and values."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.head = sizes.width // sizes.heads
        keys = self.head * sizes.key_heads
        self.repeats = sizes.heads // sizes.key_heads
        self.query = nn.Linear(sizes.width, sizes.width, bias=False)
        self.key = nn.Linear(sizes.width, keys, bias=False)
        self.value = nn.Linear(sizes.width, keys, bias=False)
        self.out = nn.Linear(sizes.width, sizes.width, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        query, key, value = (
            layer(x).view(batch, tokens, -1, self.head).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        query, key = rotated(query, cosine, sine), rotated(key, cosine, sine)
        key, value = (each.repeat_interleave(self.repeats, dim=1) for each in (key, value))
        seen = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(batch, tokens, width))


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Each pair of the two halves, turned by the angle of its position."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class Block(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.before, self.after = RootMeanSquare(sizes.width), RootMeanSquare(sizes.width)
        self.attention = Attention(sizes)
        self.gate = nn.Linear(sizes.width, sizes.hidden, bias=False)
        self.up = nn.Linear(sizes.width, sizes.hidden, bias=False)
        self.down = nn.Linear(sizes.hidden, sizes.width, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        x = x + self.attention(self.before(x), cosine, sine)
        y = self.after(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Tokens to the scores of the next ones."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.words, sizes.width)
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes.layers))
        self.norm = RootMeanSquare(sizes.width)
        self.head = nn.Linear(sizes.width, sizes.words, bias=False)
        half = sizes.width // sizes.heads // 2
        turns = torch.outer(torch.arange(sizes.tokens), 10000.0 ** (-torch.arange(half) / half))
        angles = torch.cat((turns, turns), dim=-1)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cosine, self.sine)
        return self.head(self.norm(x))


def written(folder: str, sizes: Sizes, *, seed: int = 0) -> tuple[str, str, int]:
    """The exported program, inputs for it, and the number of its parameters."""
    import numpy as np

    torch.manual_seed(seed)
    module = Llama(sizes).eval()
    tokens = torch.randint(0, sizes.words, (1, sizes.tokens))
    program, inputs = f"{folder}/llama.pt2", f"{folder}/tokens.npz"
    with torch.no_grad():
        torch.export.save(torch.export.export(module, (tokens,)), program)
    np.savez(inputs, tokens=tokens.numpy())
    return program, inputs, sum(each.numel() for each in module.parameters())

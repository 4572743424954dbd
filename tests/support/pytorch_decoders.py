"""Small decoders with caches of keys and values in plain PyTorch, as people export them."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

WORDS, WIDTH, HEADS, KEY_HEADS, LAYERS = 61, 32, 4, 2, 2
HEAD = WIDTH // HEADS


def rotated(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Each pair of the two halves, turned by the angle of its position."""
    half = x.shape[-1] // 2
    speeds = base ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = positions[:, None, :, None].float() * speeds
    cosine, sine = (torch.cat((each, each), -1) for each in (angles.cos(), angles.sin()))
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class RootMeanSquare(nn.Module):
    def __init__(self, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.rand(WIDTH) + 0.5), epsilon

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


class RotaryBlock(nn.Module):
    """Rotary positions and grouped heads; the keys of the cache are turned already."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = RootMeanSquare(), RootMeanSquare()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.value = nn.Linear(WIDTH, KEY_HEADS * HEAD, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 48), nn.Linear(48, WIDTH)

    def forward(self, x, hidden, positions, past_key, past_value):
        batch, tokens, _ = x.shape
        y = self.before(x)
        query, key, value = (
            layer(y).view(batch, tokens, -1, HEAD).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        query, key = rotated(query, positions, 10000.0), rotated(key, positions, 10000.0)
        key, value = torch.cat((past_key, key), 2), torch.cat((past_value, value), 2)
        keys, values = (each.repeat_interleave(HEADS // KEY_HEADS, 1) for each in (key, value))
        scores = query @ keys.transpose(2, 3) * HEAD**-0.5
        scores = scores.masked_fill(hidden, -1e9)
        seen = (scores.softmax(-1) @ values).transpose(1, 2).reshape(batch, tokens, WIDTH)
        x = x + self.out(seen)
        return x + self.down(nn.functional.silu(self.up(self.after(x)))), key, value


class RotaryDecoder(nn.Module):
    """Of the Llama type: tokens, a mask over all positions, positions, and the caches."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(RotaryBlock() for _ in range(LAYERS))
        self.norm = RootMeanSquare()
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, input_ids, attention_mask, position_ids, past_key_values):
        total, tokens = attention_mask.shape[1], input_ids.shape[1]
        places = torch.arange(total)
        hidden = places[None, :] > (places[total - tokens :])[:, None]
        hidden = hidden[None, None] | (attention_mask == 0)[:, None, None, :]
        x, present = self.embedding(input_ids), []
        for block, (key, value) in zip(self.blocks, past_key_values, strict=True):
            x, key, value = block(x, hidden, position_ids, key, value)
            present.append((key, value))
        return self.head(self.norm(x)), present

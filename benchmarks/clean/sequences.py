"""Recurrent networks, attention and what stands around them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from clean.case import Case, Feeds, formula, integers, normal, stack


class LastState(nn.Module):
    """A recurrent layer; its states and its last state."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Any:
        states, last = self.layer(x)
        return states, last[0] if isinstance(last, tuple) else last


class Encoder(nn.Module):
    def __init__(self, *, norm_first: bool, activation: str) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(
            32, 4, 64, activation=activation, batch_first=True, norm_first=norm_first
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(self.tokens(x))


class Rotary(nn.Module):
    """Causal attention with rotary positions, RMSNorm and a gated feed-forward: one LLM layer."""

    def __init__(self, width: int = 32, heads: int = 4, length: int = 12) -> None:
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.before, self.after = nn.RMSNorm(width, eps=1e-6), nn.RMSNorm(width, eps=1e-6)
        self.joint, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.gate, self.up = nn.Linear(width, 64, bias=False), nn.Linear(width, 64, bias=False)
        self.down = nn.Linear(64, width, bias=False)
        rates = 10000.0 ** (-torch.arange(0, self.depth, 2) / self.depth)
        angles = torch.outer(torch.arange(length).float(), rates).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("mask", torch.full((length, length), -torch.inf).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.before(x))
        inner = self.after(x)
        return x + self.down(functional.silu(self.gate(inner)) * self.up(inner))

    def attend(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.joint(x).view(batch, length, 3, self.heads, self.depth).permute(2, 0, 3, 1, 4)
        query, key, value = self.turned(parts[0]), self.turned(parts[1]), parts[2]
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.depth) + self.mask
        mixed = torch.softmax(scores, dim=-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def turned(self, x: Tensor) -> Tensor:
        left, right = x.chunk(2, dim=-1)
        return x * self.cos + torch.cat([-right, left], dim=-1) * self.sin


class Masked(nn.Module):
    """Padding masks as a data-dependent −inf."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(16, 1)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(x.shape[1])
        hidden = places[None, :] >= lengths[:, None]
        scores = self.score(x).squeeze(-1).masked_fill(hidden, -torch.inf)
        return (torch.softmax(scores, dim=-1)[..., None] * x).sum(dim=1)


class CrossAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(24, 3, batch_first=True)
        self.norm = nn.LayerNorm(24)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        return self.norm(x + self.attend(x, memory, memory, need_weights=False)[0])


class StateSpace(nn.Module):
    """A decaying sum over time, written as products with a triangle of powers."""

    def __init__(self, width: int = 8, length: int = 48) -> None:
        super().__init__()
        self.rate = nn.Parameter(torch.rand(width) * 2)
        steps = (torch.arange(length)[:, None] - torch.arange(length)[None, :]).float()
        self.register_buffer("steps", steps)

    def forward(self, x: Tensor) -> Tensor:
        decay = torch.sigmoid(self.rate)[:, None, None] ** self.steps.clamp(min=0)
        kept = torch.where(self.steps >= 0, decay, torch.zeros_like(decay))
        return torch.einsum("dts,bsd->btd", kept, x)


class BagOfWords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(200, 32), nn.Linear(32, 7)

    def forward(self, x: Tensor) -> Tensor:
        return functional.log_softmax(self.head(self.table(x).mean(dim=1)), dim=-1)


def _sharpened(layer: nn.Module, factor: float) -> nn.Module:
    """Weights times ``factor``: saturating gates, and errors that grow from step to step."""
    for parameter in layer.parameters():
        parameter.data *= factor
    return layer


def _masked_inputs(random: np.random.Generator) -> Feeds:
    return {
        "x": random.standard_normal((3, 10, 16)).astype(np.float32),
        "lengths": random.integers(1, 11, 3),
    }


def _two_sequences(random: np.random.Generator) -> Feeds:
    return {
        "x": random.standard_normal((2, 7, 24)).astype(np.float32),
        "memory": random.standard_normal((2, 11, 24)).astype(np.float32),
    }


SERIES = normal(2, 20, 8)

CASES = (
    Case(name="LSTM", build=lambda: LastState(nn.LSTM(8, 16, 2, batch_first=True)), inputs=SERIES),
    Case(
        name="LSTM, both directions",
        build=lambda: LastState(nn.LSTM(8, 12, bidirectional=True, batch_first=True)),
        inputs=SERIES,
    ),
    Case(
        name="LSTM with sharp weights",
        build=lambda: LastState(_sharpened(nn.LSTM(8, 16, batch_first=True), 6.0)),
        inputs=normal(2, 40, 8),
    ),
    Case(name="GRU", build=lambda: LastState(nn.GRU(8, 16, 2, batch_first=True)), inputs=SERIES),
    Case(
        name="RNN with tanh",
        build=lambda: LastState(nn.RNN(8, 16, batch_first=True)),
        inputs=normal(2, 60, 8),
    ),
    Case(
        name="RNN with relu",
        build=lambda: LastState(nn.RNN(8, 16, nonlinearity="relu", batch_first=True)),
        inputs=SERIES,
    ),
    Case(
        name="encoder, GELU",
        build=lambda: Encoder(norm_first=True, activation="gelu"),
        inputs=integers(2, 9, below=50),
    ),
    Case(
        name="encoder, ReLU",
        build=lambda: Encoder(norm_first=False, activation="relu"),
        inputs=integers(2, 9, below=50),
    ),
    Case(name="rotary layer", build=Rotary, inputs=normal(2, 12, 32)),
    Case(
        name="rotary layer, large activations", build=Rotary, inputs=normal(2, 12, 32, scale=300.0)
    ),
    Case(name="masked pooling", build=Masked, inputs=_masked_inputs),
    Case(name="cross-attention", build=CrossAttention, inputs=_two_sequences),
    Case(name="state space", build=StateSpace, inputs=normal(2, 48, 8)),
    Case(name="bag of words", build=BagOfWords, inputs=integers(4, 30, below=200)),
    stack(
        "gated linear unit",
        lambda: [nn.Linear(16, 64), nn.GLU(), nn.LayerNorm(32), nn.Linear(32, 8)],
        normal(6, 16),
    ),
    formula(
        "scaled dot-product attention",
        lambda x: functional.scaled_dot_product_attention(x, x * 2.0, x + 1.0, is_causal=True),
        normal(2, 2, 16, 8),
    ),
    formula(
        "sharp attention",
        lambda x: torch.softmax(50.0 * x @ x.transpose(1, 2), -1) @ x,
        normal(2, 16, 8),
    ),
)

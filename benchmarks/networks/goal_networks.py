"""The networks of the goals of speed, beside ResNet-50: BERT, a U-Net, a small CNN, one layer."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from networks.torch_networks import Network, normalized

VOCABULARY, TOKENS = 30522, 128


class EncoderLayer(nn.Module):
    """Attention and two linear layers, each with a shortcut and a normalization behind it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.mixed = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = (nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        query, key, value = (
            part(x).view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / (width // self.heads) ** 0.5
        seen = (torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(batch, tokens, width)
        x = self.first(x + self.mixed(seen))
        return self.second(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Bert(nn.Module):
    """12 layers of width 768 over 128 tokens: 110 million parameters."""

    def __init__(self, layers: int = 12, width: int = 768) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(512, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(EncoderLayer(width, 12) for _ in range(layers))
        self.pooled = nn.Linear(width, width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, 0.0, 0.02)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.norm(self.words(tokens) + self.places(torch.arange(tokens.shape[1])))
        for layer in self.layers:
            x = layer(x)
        return x, torch.tanh(self.pooled(x[:, 0]))


def _two_convolutions(incoming: int, outgoing: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(incoming, outgoing, 3, padding=1, bias=False), normalized(outgoing), nn.ReLU(),
        nn.Conv2d(outgoing, outgoing, 3, padding=1, bias=False), normalized(outgoing), nn.ReLU(),
    )  # fmt: skip


class Unet(nn.Module):
    """Four steps down and up again over 256×256: 10 million parameters, about 40 MB."""

    def __init__(self, base: int = 36) -> None:
        super().__init__()
        widths = [base, 2 * base, 4 * base, 8 * base]
        self.down, self.up, self.joined = (nn.ModuleList() for _ in range(3))
        incoming = 3
        for width in widths:
            self.down.append(_two_convolutions(incoming, width))
            incoming = width
        self.middle = _two_convolutions(incoming, 2 * incoming)
        incoming *= 2
        for width in reversed(widths):
            self.up.append(nn.ConvTranspose2d(incoming, width, 2, stride=2))
            self.joined.append(_two_convolutions(2 * width, width))
            incoming = width
        self.head, self.smaller = nn.Conv2d(incoming, 2, 1), nn.MaxPool2d(2)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")

    def forward(self, image: Tensor) -> Tensor:
        kept = []
        for part in self.down:
            image = part(image)
            kept.append(image)
            image = self.smaller(image)
        image = self.middle(image)
        for larger, part in zip(self.up, self.joined, strict=True):
            image = part(torch.cat([kept.pop(), larger(image)], 1))
        return self.head(image)


def _small() -> nn.Module:
    """A run of 64×64 takes milliseconds."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), normalized(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1, stride=2), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


_SOURCE = Path(__file__)
BERT = Network(
    name="bert", build=Bert, input_name="tokens", outputs=("states", "pooled"), source=_SOURCE,
    example=lambda: torch.randint(0, VOCABULARY, (1, TOKENS)),
)  # fmt: skip
UNET = Network(
    name="unet", build=Unet, input_name="image", source=_SOURCE,
    example=lambda: torch.randn(1, 3, 256, 256),
)  # fmt: skip
LARGE_UNET = Network(
    name="unet_512", build=Unet, input_name="image", source=_SOURCE,
    example=lambda: torch.randn(1, 3, 512, 512),
)  # fmt: skip
SMALL = Network(
    name="small_cnn", build=_small, input_name="image", source=_SOURCE,
    example=lambda: torch.randn(1, 3, 64, 64),
)  # fmt: skip
ONE_LAYER = Network(
    name="one_layer", build=lambda: nn.Linear(4, 2), input_name="row", source=_SOURCE,
    example=lambda: torch.randn(1, 4),
)  # fmt: skip

"""Small networks in the manner of known architectures, and samples of what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from networks.torch_networks import normalized

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeNetwork:
    """How a network is built, and a sample of its inputs by name."""

    name: str
    build: Callable[[], nn.Module]
    sample: Callable[[np.random.Generator], Mapping[str, Array]]


class _Gate(nn.Module):
    """Squeeze and excitation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, 8, 1), nn.Conv2d(8, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        mean = nn.functional.adaptive_avg_pool2d(x, 1)
        return x * nn.functional.hardsigmoid(self.up(torch.relu(self.down(mean))))


class _Inverted(nn.Module):
    """The block of MobileNetV3."""

    def __init__(self, incoming: int, wide: int, outgoing: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(incoming, wide, 1, bias=False), normalized(wide), nn.Hardswish(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), normalized(wide),
            nn.Hardswish(), _Gate(wide),
            nn.Conv2d(wide, outgoing, 1, bias=False), normalized(outgoing),
        )  # fmt: skip
        self.same = stride == 1 and incoming == outgoing

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        return x + y if self.same else y


class MobileNet(nn.Module):
    """A stem, four inverted residuals, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1, bias=False), normalized(16), nn.Hardswish(),
            _Inverted(16, 32, 16, 1), _Inverted(16, 48, 24, 2), _Inverted(24, 64, 24, 1),
            nn.Conv2d(24, 64, 1, bias=False), normalized(64), nn.Hardswish(),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Linear(64, 48), nn.Hardswish(), nn.Linear(48, 10))

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.body(image).mean((2, 3)))


def _encoder(width: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, "gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


class Vit(nn.Module):
    """Patches, a class token, positions and an encoder."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 17, width))
        self.encoder, self.norm = _encoder(width), nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.encoder(x))[:, 0])


class Bert(nn.Module):
    """Embeddings of words and places, an encoder, and a pooled output beside the states."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, width), nn.Embedding(12, width)
        self.norm, self.encoder = nn.LayerNorm(width), _encoder(width)
        self.pool = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.encoder(self.norm(self.words(tokens) + self.places(places)))
        return x, torch.tanh(self.pool(x[:, 0]))


class Lstm(nn.Module):
    """Two layers in both directions, and a class for the last step."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(32, 5)

    def forward(self, series: Tensor) -> Tensor:
        return self.head(self.lstm(series)[0][:, -1])


def _image(draw: np.random.Generator) -> Mapping[str, Array]:
    return {"image": draw.standard_normal((1, 3, 32, 32)).astype(np.float32)}


EDGE_NETWORKS = (
    EdgeNetwork(name="MobileNetV3-like", build=MobileNet, sample=_image),
    EdgeNetwork(name="ViT-like", build=Vit, sample=_image),
    EdgeNetwork(
        name="BERT-like",
        build=Bert,
        sample=lambda draw: {"tokens": draw.integers(0, 50, (2, 12)).astype(np.int64)},
    ),
    EdgeNetwork(
        name="LSTM-like",
        build=Lstm,
        sample=lambda draw: {"series": draw.standard_normal((2, 10, 8)).astype(np.float32)},
    ),
)

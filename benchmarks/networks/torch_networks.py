"""PyTorch networks and their ONNX exports: built here, seeded, nothing is downloaded."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from networks.files import Files, folder_of

SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """One network: how it is built, an input it runs on, and the file that builds it."""

    name: str
    build: Callable[[], nn.Module]
    input_name: str
    example: Callable[[], Tensor]
    outputs: tuple[str, ...] = ("scores",)
    source: Path = Path(__file__)


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 with a shortcut: the block of ResNet-50."""

    widening = 4

    def __init__(self, incoming: int, width: int, stride: int) -> None:
        super().__init__()
        outgoing = width * self.widening
        self.body = nn.Sequential(
            nn.Conv2d(incoming, width, 1, bias=False), normalized(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), normalized(width), nn.ReLU(),
            nn.Conv2d(width, outgoing, 1, bias=False), normalized(outgoing),
        )  # fmt: skip
        same = stride == 1 and incoming == outgoing
        self.shortcut: nn.Module = nn.Identity()
        if not same:
            self.shortcut = nn.Sequential(
                nn.Conv2d(incoming, outgoing, 1, stride, bias=False), normalized(outgoing)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class Resnet50(nn.Module):
    """25.6 million parameters, for images of 224×224."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), normalized(64), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        blocks: list[nn.Module] = []
        incoming = 64
        for depth, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
            for place in range(depth):
                blocks.append(Bottleneck(incoming, width, stride if place == 0 else 1))
                incoming = width * Bottleneck.widening
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(incoming, 1000)

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(image)).mean(dim=(2, 3)))


class Recurrent(nn.Module):
    """Two layers of LSTM over 64 steps, and a class for the last step."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(64, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 32)

    def forward(self, series: Tensor) -> Tensor:
        states, _ = self.lstm(series)
        return self.head(states[:, -1])


class Transformer(nn.Module):
    """An encoder of 8 layers, width 512: 26 million parameters, about 100 MB."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(1000, 512)
        self.places = nn.Parameter(torch.randn(64, 512) * 0.02)
        layer = nn.TransformerEncoderLayer(512, 8, 2048, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)
        self.head = nn.Linear(512, 16)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(self.tokens(tokens) + self.places).mean(dim=1))


def normalized(channels: int) -> nn.BatchNorm2d:
    """A BatchNorm as after training: fresh from its constructor it normalizes nothing."""
    norm = nn.BatchNorm2d(channels)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.normal_(norm.bias, std=0.2)
    nn.init.normal_(norm.running_mean, std=0.2)
    nn.init.uniform_(norm.running_var, 0.5, 2.0)
    return norm


NETWORKS = (
    Network(
        name="resnet50",
        build=Resnet50,
        input_name="image",
        example=lambda: torch.rand(1, 3, 224, 224),
    ),
    Network(
        name="lstm", build=Recurrent, input_name="series", example=lambda: torch.randn(1, 64, 64)
    ),
    Network(
        name="transformer",
        build=Transformer,
        input_name="tokens",
        example=lambda: torch.randint(0, 1000, (1, 64)),
    ),
)


def written(network: Network) -> Files:
    """The files of one network; made unless this very source has made them before."""
    folder = folder_of(network.source, torch.__version__)
    torch.manual_seed(SEED)
    module, example = network.build().eval(), network.example()
    files = Files(
        name=network.name,
        reference=folder / f"{network.name}.pt2",
        candidate=folder / f"{network.name}.onnx",
        inputs=folder / f"{network.name}.npz",
        parameters=sum(each.numel() for each in module.parameters()),
    )
    if not files.inputs.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write(network, module, example, files)
    return files


def _write(network: Network, module: nn.Module, example: Tensor, files: Files) -> None:
    with quiet(), torch.no_grad():
        torch.export.save(torch.export.export(module, (example,)), files.reference)
        program = torch.onnx.export(
            module, (example,), dynamo=True, verbose=False,
            input_names=[network.input_name], output_names=list(network.outputs),
        )  # fmt: skip
        program.save(files.candidate)
    # Last: where the inputs are, everything is.
    np.savez(files.inputs, **{network.input_name: example.numpy()})


@contextmanager
def quiet() -> Iterator[None]:
    """The exporters tell of packages and plans that concern nobody here."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)

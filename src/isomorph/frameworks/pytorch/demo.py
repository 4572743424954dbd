"""A small residual network, exported twice: once faithfully, once with one number changed.

Files that anyone can make, so that reports about them can be verified by hand.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isomorph.core.demo import WRONG_EPSILON, DemoFiles
from isomorph.core.lazy import require

NEEDED_FOR = "isomorph demo"
BLOCKS = 6


def write_demo(folder: Path) -> DemoFiles:
    """Write the three models into ``folder``."""
    torch = require("torch", extra="torch", needed_for=NEEDED_FOR)
    require("onnxscript", extra="torch", needed_for=NEEDED_FOR)
    onnx = require("onnx", extra="torch", needed_for=NEEDED_FOR)
    torch.manual_seed(0)
    module = _residual_network(torch).eval()
    example = (torch.randn(2, 3, 32, 32),)
    reference, faithful, altered = (
        folder / name for name in ("network.pt2", "faithful.onnx", "altered.onnx")
    )
    with _quiet():
        torch.export.save(torch.export.export(module, example), reference)
        # Unoptimized, so that each normalization stays a node whose epsilon can be looked at.
        program = torch.onnx.export(module, example, dynamo=True, optimize=False, verbose=False)
        program.save(faithful)
    model = onnx.load(faithful)
    node, change = _alter(onnx, model)
    onnx.save(model, altered)
    return DemoFiles(
        reference=reference,
        faithful=faithful,
        altered=altered,
        node=node,
        change=change,
        made_by="PyTorch, exported to ONNX by torch.onnx",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter warns of packages that this network does not need."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _alter(onnx: Any, model: Any) -> tuple[str, str]:  # noqa: ANN401
    """Change the epsilon of the normalization in the middle; its name, and what was done."""
    norms = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    node = norms[len(norms) // 2]
    kept = [attribute for attribute in node.attribute if attribute.name != "epsilon"]
    was = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute("epsilon", WRONG_EPSILON)])
    return node.name, f"epsilon of {node.name}: {was:g} became {WRONG_EPSILON:g}"


def _residual_network(torch: Any) -> Any:  # noqa: ANN401
    nn = torch.nn

    def normalized(channels: int) -> Any:  # noqa: ANN401
        norm = nn.BatchNorm2d(channels)
        # As after training: a network fresh from its constructor normalizes nothing.
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias, std=0.2)
        nn.init.normal_(norm.running_mean, std=0.2)
        nn.init.uniform_(norm.running_var, 0.3, 2.0)
        return norm

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.first_norm = normalized(channels)
            self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.second_norm = normalized(channels)

        def forward(self, x: Any) -> Any:  # noqa: ANN401
            inner = torch.relu(self.first_norm(self.first(x)))
            return torch.relu(x + self.second_norm(self.second(inner)))

    class Network(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
            self.blocks = nn.Sequential(*(Block(16) for _ in range(BLOCKS)))
            self.head = nn.Linear(16, 10)

        def forward(self, image: Any) -> Any:  # noqa: ANN401
            features = self.blocks(torch.relu(self.stem(image)))
            return self.head(features.mean(dim=(2, 3)))

    return Network()

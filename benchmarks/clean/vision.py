"""Convolutional networks of many kinds."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from clean.case import Case, formula, normal, stack, uniform


def trained(norm: nn.Module, *, widest: float = 2.0) -> nn.Module:
    """A normalization as after training, with variances down to a hundredth of ``widest``."""
    channels = norm.running_mean.numel()
    norm.weight.data = 0.5 + torch.rand(channels)
    norm.bias.data = 0.2 * torch.randn(channels)
    norm.running_mean.data = 0.3 * torch.randn(channels)
    norm.running_var.data = widest * (0.01 + torch.rand(channels))
    return norm


class Residual(nn.Module):
    def __init__(self, channels: int = 12, blocks: int = 4) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                trained(nn.BatchNorm2d(channels)),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                trained(nn.BatchNorm2d(channels)),
            )
            for _ in range(blocks)
        )
        self.head = nn.Linear(channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.stem(x))
        for block in self.blocks:
            x = torch.relu(x + block(x))
        return self.head(x.mean(dim=(2, 3)))


class SqueezeAndExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, 4, 1),
            nn.ReLU(),
            nn.Conv2d(4, channels, 1),
            nn.Hardsigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(x)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(8, 8, 3, padding=2, dilation=2)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.last = nn.Conv2d(11, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.leaky_relu(self.down(x), 0.1)
        inner = self.up(functional.silu(self.middle(inner)))
        return self.last(torch.cat([inner, x], dim=1))


class ConvNext(nn.Module):
    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 4, stride=4)
        self.spatial = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide, self.narrow = nn.Linear(channels, 64), nn.Linear(64, channels)
        self.scale = nn.Parameter(torch.full((channels,), 1e-2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        inner = self.norm(self.spatial(x).permute(0, 2, 3, 1))
        inner = self.scale * self.narrow(functional.gelu(self.wide(inner)))
        return x + inner.permute(0, 3, 1, 2)


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 32, 8, stride=8)
        self.token = nn.Parameter(torch.randn(1, 1, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.embed(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(tokens.shape[0], -1, -1), tokens], dim=1)
        return self.head(self.layer(tokens)[:, 0])


def _resized(x: Tensor) -> Any:
    big = functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
    odd = functional.interpolate(x, size=(13, 7), mode="bilinear", align_corners=True)
    near = functional.interpolate(x, scale_factor=3.0, mode="nearest")
    return big, odd, near


def _pooled(x: Tensor) -> Any:
    return (
        functional.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        functional.avg_pool2d(x, 2, 2, 0, ceil_mode=True),
        functional.adaptive_avg_pool2d(x, (4, 4)),
        functional.lp_pool2d(x, 2.0, 2),
    )


def _warped(x: Tensor) -> Tensor:
    theta = torch.tensor([[[0.9, 0.2, 0.1], [-0.2, 0.8, 0.05]]]).expand(x.shape[0], -1, -1)
    grid = functional.affine_grid(theta, list(x.shape), align_corners=False)
    return functional.grid_sample(x, grid, align_corners=False)


def _local_response(x: Tensor) -> Tensor:
    return functional.local_response_norm(x, 5, alpha=1e-3, beta=0.75, k=2.0)


def _gram(x: Tensor) -> Tensor:
    flat = x.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


IMAGE = normal(2, 3, 32, 32)

CASES = (
    Case(name="residual", build=Residual, inputs=IMAGE),
    Case(name="residual, image of 0…255", build=Residual, inputs=uniform(2, 3, 32, 32, high=255.0)),
    Case(name="U-Net", build=UNet, inputs=IMAGE),
    Case(name="ConvNeXt block", build=ConvNext, inputs=IMAGE),
    Case(name="vision transformer", build=Patches, inputs=IMAGE),
    stack(
        "depthwise, squeeze and excite",
        lambda: [
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), trained(nn.BatchNorm2d(16)),
            nn.Hardswish(), nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False),
            trained(nn.BatchNorm2d(16)), nn.ReLU6(), SqueezeAndExcite(16), nn.Conv2d(16, 8, 1),
        ],
        IMAGE,
    ),
    stack(
        "deconvolution",
        lambda: [
            nn.ConvTranspose2d(6, 8, 4, stride=2, padding=1, bias=False),
            trained(nn.BatchNorm2d(8)), nn.ReLU(),
            nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1, groups=2), nn.Tanh(),
        ],
        normal(2, 6, 9, 9),
    ),
    stack(
        "grouped and dilated, reflected edges",
        lambda: [
            nn.ReflectionPad2d(2), nn.Conv2d(3, 12, 3, dilation=2, groups=3),
            nn.ReplicationPad2d(1), nn.Conv2d(12, 12, (1, 5), groups=4), nn.PReLU(12),
        ],
        IMAGE,
    ),
    stack(
        "group and instance normalization",
        lambda: [
            nn.Conv2d(3, 16, 3), nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 8, 3),
            nn.InstanceNorm2d(8, affine=True), nn.ELU(),
        ],
        IMAGE,
    ),
    stack(
        "conv1d over a series",
        lambda: [
            nn.Conv1d(4, 16, 9, padding=4), trained(nn.BatchNorm1d(16)), nn.ReLU(),
            nn.Conv1d(16, 16, 3, dilation=4), nn.MaxPool1d(2), nn.Conv1d(16, 2, 1),
        ],
        normal(2, 4, 128),
    ),
    stack(
        "conv3d over a volume",
        lambda: [
            nn.Conv3d(2, 8, 3, padding=1), trained(nn.BatchNorm3d(8)), nn.ReLU(), nn.AvgPool3d(2),
            nn.Conv3d(8, 4, 3),
        ],
        normal(1, 2, 12, 12, 12),
    ),
    stack(
        "pixel shuffle",
        lambda: [nn.Conv2d(3, 12, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(3, 3, 3)],
        normal(1, 3, 16, 16),
    ),
    stack(
        "conv with nearly cancelling BatchNorm",
        # β − μ·s cancels to a hundredth: folding it loses digits, and loses them rightly.
        lambda: [nn.Conv2d(3, 8, 3, bias=False), canceling(8), nn.ReLU(), nn.Conv2d(8, 4, 3)],
        IMAGE,
    ),
    formula("resizing", _resized, normal(1, 4, 10, 10)),
    formula("pooling", _pooled, uniform(2, 4, 17, 17)),
    formula("affine warp", _warped, normal(2, 3, 16, 16)),
    formula("local response normalization", _local_response, normal(2, 12, 9, 9, scale=5.0)),
    formula("Gram matrix", _gram, normal(2, 8, 16, 16)),
)  # fmt: skip


def canceling(channels: int) -> nn.Module:
    norm = trained(nn.BatchNorm2d(channels))
    scale = norm.weight.data / torch.sqrt(norm.running_var + norm.eps)
    norm.running_mean.data += 5.0
    norm.bias.data = norm.running_mean * scale + 1e-2 * torch.randn(channels)
    return norm

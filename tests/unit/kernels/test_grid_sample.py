"""GridSample against ONNX Runtime, under the names of every opset, for images and volumes."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.kernels import registry
from one_node import OneNode, assert_same_within_rounding

registry.load_all()

RANDOM = np.random.default_rng(11)
SPELLED = {
    16: ("bilinear", "nearest", "bicubic"),
    20: ("linear", "nearest", "cubic"),
}


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("version", "mode"), [(v, mode) for v, modes in SPELLED.items() for mode in modes]
)
def test_images_are_read_as_onnxruntime_reads_them(version, mode, padding, corners):
    x = RANDOM.standard_normal((2, 3, 6, 7)).astype(np.float32)
    grid = RANDOM.uniform(-1.4, 1.4, (2, 4, 5, 2)).astype(np.float32)
    node = OneNode("GridSample", [x, grid], domain="", version=version, mode=mode,
                   padding_mode=padding, align_corners=corners)  # fmt: skip
    assert_same_within_rounding(node)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_volumes_are_read_as_onnxruntime_reads_them(mode, padding):
    x = RANDOM.standard_normal((2, 3, 4, 5, 6)).astype(np.float32)
    grid = RANDOM.uniform(-1.3, 1.3, (2, 3, 4, 2, 3)).astype(np.float32)
    node = OneNode("GridSample", [x, grid], domain="", version=20, mode=mode, padding_mode=padding)
    assert_same_within_rounding(node)


def test_a_constant_image_is_read_as_itself_inside_whatever_the_curve():
    x = np.full((1, 1, 5, 5), 3.0, np.float32)
    grid = RANDOM.uniform(-0.3, 0.3, (1, 4, 4, 2)).astype(np.float32)
    for mode in ("bilinear", "bicubic"):
        node = OneNode("GridSample", [x, grid], domain="", version=16, mode=mode)
        np.testing.assert_allclose(node.by_kernel()[0], 3.0, rtol=1e-12)


def test_a_grid_of_nan_reads_no_pixel():
    x, grid = np.ones((1, 1, 4, 4), np.float32), np.full((1, 1, 1, 2), np.nan, np.float32)
    node = OneNode("GridSample", [x, grid], domain="", version=16, mode="nearest")
    assert np.isnan(node.by_kernel()[0]).all() or (node.by_kernel()[0] == 0).all()


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 4, 5, 6)])
def test_affine_grids_are_those_of_onnxruntime(size, corners):
    axes = len(size) - 2
    theta = RANDOM.standard_normal((2, axes, axes + 1)).astype(np.float32)
    node = OneNode("AffineGrid", [theta, np.array(size)], domain="", version=20,
                   align_corners=corners)  # fmt: skip
    assert_same_within_rounding(node)

"""How colors look to people, with usual color vision or another, and how far they stand apart."""

import itertools

import numpy as np

VISION = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
"""From linear sRGB to what is seen: Machado, Oliveira and Fernandes (2009), full severity."""

_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = np.array([0.9505, 1.0, 1.089])


def linear(color):
    """The linear parts of a color written as ``#rrggbb`` or ``#rgb``."""
    if len(color) == 4:
        color = "#" + "".join(2 * digit for digit in color[1:])
    parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _lab(parts):
    scaled = _TO_XYZ @ np.clip(parts, 0, 1) / _WHITE
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def least_distance(colors):
    """The least distance in CIELAB of any two of them, over all kinds of color vision."""
    return min(
        float(np.linalg.norm(_lab(seen @ linear(one)) - _lab(seen @ linear(other))))
        for seen in map(np.asarray, VISION.values())
        for one, other in itertools.combinations(colors, 2)
    )


def contrast(one, other):
    """The contrast of two colors, from 1 to 21 (WCAG)."""
    low, high = sorted(float(_TO_XYZ[1] @ linear(each)) for each in (one, other))
    return (high + 0.05) / (low + 0.05)

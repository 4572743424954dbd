"""Blocks of elements that change places: parted into axes, put into another order, joined again.

Kernels move arrays by it, and proofs move terms, so each operator is defined once. Sizes may stand
for every size of a dynamic axis (``proof.sizes``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.oracle.noise import Array


@dataclass(frozen=True, slots=True)
class Rearrangement:
    """The shape with the axes that move, their new order, and the shape of the result."""

    parted: tuple[int, ...]
    order: tuple[int, ...]
    joined: tuple[int, ...]

    def of(self, x: Array) -> Array:
        """The elements of an array in their new places."""
        return x.reshape(self.parted).transpose(self.order).reshape(self.joined)


def depth_to_space(shape: Sequence[int], block: int, mode: str = "DCR") -> Rearrangement:
    """[.., C, H, W]: blocks of channels become blocks of pixels.

    ``mode``: whether the depth stands in front of the blocks (CRD) or behind them (DCR).
    """
    *lead, c, h, w = shape
    _require_fit(block, (c, block * block))
    depth, at = c // (block * block), len(lead)
    blocks = (depth, block, block) if mode == "CRD" else (block, block, depth)
    places = (0, 3, 1, 4, 2) if mode == "CRD" else (2, 3, 0, 4, 1)
    return Rearrangement(
        (*lead, *blocks, h, w), _behind(at, places), (*lead, depth, h * block, w * block)
    )


def space_to_depth(shape: Sequence[int], block: int, mode: str = "DCR") -> Rearrangement:
    """[.., C, H, W]: blocks of pixels become blocks of channels."""
    *lead, c, h, w = shape
    _require_fit(block, (h, block), (w, block))
    places = (0, 2, 4, 1, 3) if mode == "CRD" else (2, 4, 0, 1, 3)
    return Rearrangement(
        (*lead, c, h // block, block, w // block, block),
        _behind(len(lead), places),
        (*lead, c * block * block, h // block, w // block),
    )


def last_depth_to_space(shape: Sequence[int], block: int) -> Rearrangement:
    """[N, H, W, C]: blocks of channels become blocks of pixels."""
    n, h, w, c = shape
    _require_fit(block, (c, block * block))
    depth = c // (block * block)
    return Rearrangement(
        (n, h, w, block, block, depth), (0, 1, 3, 2, 4, 5), (n, h * block, w * block, depth)
    )


def last_space_to_depth(shape: Sequence[int], block: int) -> Rearrangement:
    """[N, H, W, C]: blocks of pixels become blocks of channels."""
    n, h, w, c = shape
    _require_fit(block, (h, block), (w, block))
    rows, columns = h // block, w // block
    return Rearrangement(
        (n, rows, block, columns, block, c),
        (0, 1, 3, 2, 4, 5),
        (n, rows, columns, c * block * block),
    )


def space_to_batch(shape: Sequence[int], blocks: Sequence[int]) -> Rearrangement:
    """[N, ..]: blocks of the first axes behind the batch are spread over the batch."""
    rank = len(blocks)
    sizes, rest = shape[1 : 1 + rank], shape[1 + rank :]
    _require_fit(min(blocks), *zip(sizes, blocks, strict=True))
    cells = [size // block for size, block in zip(sizes, blocks, strict=True)]
    pairs = [each for pair in zip(cells, blocks, strict=True) for each in pair]
    inner, outer = range(2, 2 + 2 * rank, 2), range(1, 1 + 2 * rank, 2)
    order = (*inner, 0, *outer, *range(1 + 2 * rank, 1 + 2 * rank + len(rest)))
    return Rearrangement(
        (shape[0], *pairs, *rest), order, (math.prod(blocks) * shape[0], *cells, *rest)
    )


def batch_to_space(shape: Sequence[int], blocks: Sequence[int]) -> Rearrangement:
    """[N, ..]: the way back."""
    rank = len(blocks)
    sizes, rest = shape[1 : 1 + rank], shape[1 + rank :]
    _require_fit(min(blocks), (shape[0], math.prod(blocks)))
    batch = shape[0] // math.prod(blocks)
    order = [rank]
    for axis in range(rank):
        order += [rank + 1 + axis, axis]
    order += range(1 + 2 * rank, 1 + 2 * rank + len(rest))
    whole = (size * block for size, block in zip(sizes, blocks, strict=True))
    return Rearrangement((*blocks, batch, *shape[1:]), tuple(order), (batch, *whole, *rest))


def _behind(lead: int, places: Sequence[int]) -> tuple[int, ...]:
    """An order of the axes behind so many that stay."""
    return (*range(lead), *(lead + place for place in places))


def _require_fit(least: int, *parted: tuple[int, int]) -> None:
    if least < 1 or any(size % block for size, block in parted):
        raise ValueError("blocks that do not fit")

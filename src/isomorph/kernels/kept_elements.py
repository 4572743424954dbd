"""Which elements of an axis an operator keeps: kernels and proofs read the same rules."""

from __future__ import annotations

from collections.abc import Sequence


def kept_slice(begin: int, end: int, step: int, size: int) -> slice:
    """The Python slice that ONNX's bounds of an axis stand for."""
    begin, end = (place + size if place < 0 else place for place in (begin, end))
    if step > 0:
        return slice(min(max(begin, 0), size), min(max(end, 0), size), step)
    # Counting backwards, the operator clamps a start before the first element to the first
    # (Python would take nothing), and an end before it means "to the first".
    begin, end = min(max(begin, 0), size - 1), min(max(end, -1), size - 1)
    return slice(begin, None if end < 0 else end, step) if size else slice(0, 0, step)


def part_sizes(size: int, count: int) -> tuple[int, ...]:
    """So many parts of one size, of which the last may be shorter."""
    each = -(-size // count)
    return (*((each,) * (count - 1)), size - each * (count - 1))


def same_border(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The border with which a window at every stride covers each axis; an odd one goes behind."""
    before, after = [], []
    for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        whole = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        before.append(whole // 2)
        after.append(whole - whole // 2)
    return before, after

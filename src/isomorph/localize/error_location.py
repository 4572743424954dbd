"""Describe where a tensor is wrong and how: border, channel, sign; a factor or an offset.

An offset may be one number, or one for each index of an axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.messages import message
from isomorph.oracle.noise import unit_roundoff
from isomorph.oracle.sizes import rms

if TYPE_CHECKING:
    from isomorph.core.trace import Array

_FEW = 4
"""Up to this many elements are listed one by one."""


def describe_error(wrong: Array, right: Array, limit: float) -> Mapping[str, Any]:
    """Describe the elements that differ by more than ``limit``, as data and as text."""
    a, b = np.asarray(wrong, np.float64), np.asarray(right, np.float64)
    if a.shape != b.shape or not a.size:
        return {}
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(same, 0.0, np.abs(a - b))
    apart = np.where(np.isnan(apart), np.inf, apart)
    # Many small differences may matter together though no single one exceeds the limit.
    mask = apart > limit if bool(np.any(apart > limit)) else apart > 0.0
    count = int(mask.sum())
    if not count:
        return {}
    parts = [_how_many(mask, count), *_places(mask), *_signs(mask, b), *_form(a, b, mask, limit)]
    worst = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return {
        "words": ", ".join(parts),
        "elements": count,
        "of": int(a.size),
        "worst_index": [int(each) for each in worst],
    }


def relative_error(wrong: Array, right: Array) -> float:
    """Return the rms of the difference relative to the right tensor; absolute if that is zero.

    The large numbers of a mask are no scale: if the elements that are not masked differ, only they
    are measured.
    """
    if wrong.shape != right.shape:
        return float("inf")
    a, b = np.asarray(wrong, np.float64), np.asarray(right, np.float64)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        step = np.where(same, 0.0, np.abs(a - b))
        plain = ~_of_a_mask(b)
        if bool(plain.any()) and bool(np.any(step[plain])):
            step, b = step[plain], b[plain]
        size = rms(b)
        error = rms(np.where(np.isnan(step), np.inf, step))
        return error / size if 0 < size < np.inf else error


def _of_a_mask(right: Array) -> Array:
    """Mark elements so large that their float32 rounding exceeds the median element."""
    sizes = np.abs(right)
    usual = sizes[np.isfinite(sizes) & (sizes > 0)]
    middle = float(np.median(usual)) if usual.size else np.inf
    return np.asarray(sizes * unit_roundoff("float32") > middle)


def _how_many(mask: Array, count: int) -> str:
    if count == mask.size:
        return message("WHERE.all")
    text = message("WHERE.some", count=count, total=mask.size)
    if count <= _FEW:
        found = [tuple(int(each) for each in index) for index in np.argwhere(mask)]
        text += f" at {', '.join(map(str, found))}"
    return text


def _places(mask: Array) -> Iterator[str]:
    """Yield the indices of an axis that contain the error, or else the border of two axes."""
    if bool(mask.all()) or mask.sum() <= _FEW:
        return
    confined = False
    for axis in range(mask.ndim):
        others = tuple(each for each in range(mask.ndim) if each != axis)
        touched = np.flatnonzero(mask.any(axis=others))
        if touched.size < mask.shape[axis]:
            confined = True
            yield message("WHERE.of_axis", indices=_indices(touched, mask.shape[axis]), axis=axis)
    if confined:
        return
    for pair in combinations([axis for axis in range(mask.ndim) if mask.shape[axis] > 2], 2):
        width = _border(mask, pair)
        if width:
            yield message("WHERE.border", width=width, one=pair[0], other=pair[1])
            return


def _indices(touched: Array, size: int) -> str:
    first, last = int(touched[0]), int(touched[-1])
    if touched.size == 1:
        return message("WHERE.index", index=first)
    steps = np.diff(touched)
    step = int(steps[0])
    if step > 1 and touched.size > 2 and bool(np.all(steps == step)):
        parity = "odd " if first % 2 else "even "
        return message(
            "WHERE.every", parity=parity if step == 2 else "", first=first, second=first + step
        )
    if bool(np.all(steps == 1)):
        if first == 0 or last == size - 1:
            return message("WHERE.end", which="first" if first == 0 else "last", count=touched.size)
        return message("WHERE.from_to", first=first, last=last)
    inner = touched[(touched >= 1) & (touched < size - 1)]
    if not inner.size:
        return message("WHERE.both_ends")
    return message("WHERE.indices", count=touched.size, total=size)


def _border(mask: Array, axes: Sequence[int]) -> int:
    """Return the width of the frame that contains the error; 0 if it covers half the tensor."""
    narrowest = min(mask.shape[axis] for axis in axes)
    for width in range(1, (narrowest + 1) // 2):
        inner = tuple(
            slice(width, -width) if axis in axes else slice(None) for axis in range(mask.ndim)
        )
        within = mask[inner]
        if 2 * within.size < mask.size and width > 1:
            return 0
        if within.size and not bool(within.any()):
            return width
    return 0


def _signs(mask: Array, right: Array) -> Iterator[str]:
    """Yield a sign if only values of that sign, and most of them, are wrong."""
    for word, sign in (("negative", right < 0), ("positive", right > 0)):
        others = (right != 0) & ~sign
        if bool(others.any()) and bool(mask.any()) and not bool((mask & ~sign).any()):
            share = float((mask & sign).sum()) / max(int(sign.sum()), 1)
            if 2 * share > 1:
                yield message("WHERE.where_right_is", value=word)


def _form(wrong: Array, right: Array, mask: Array, limit: float) -> Iterator[str]:
    """Yield the factor or the offset of the error; an offset may vary along one axis."""
    if mask.sum() < 2 or not np.isfinite(wrong[mask]).all() or not np.isfinite(right[mask]).all():
        return
    size = float(np.sum(np.square(right[mask])))
    factor = float(np.sum(wrong[mask] * right[mask])) / size if size > 0 else 0.0
    with np.errstate(invalid="ignore"):
        step = wrong - right  # equal infinities are outside of the mask
    if _nothing(wrong[mask] - factor * right[mask], step[mask], limit):
        shown = float(f"{factor:.4g}")  # to four digits
        yield message("WHERE.sign") if shown == -1.0 else message("WHERE.factor", factor=shown)
    elif _nothing(step[mask] - step[mask].mean(), step[mask], limit):
        yield message("WHERE.same_amount", amount=step[mask].mean())
    elif bool(mask.all()):
        for axis in range(step.ndim):
            others = tuple(each for each in range(step.ndim) if each != axis)
            if step.size > step.shape[axis] > 1 and _nothing(
                step - step.mean(axis=others, keepdims=True), step, limit
            ):
                yield message("WHERE.amount_of_axis", axis=axis)
                return


def _nothing(remainder: Array, of: Array, limit: float) -> bool:
    """Whether the remainder is within the limit, and the original difference is not."""
    return bool(np.max(np.abs(remainder)) <= limit) and bool(np.max(np.abs(of)) > 2.0 * limit)

"""Products with stored matrices on an accelerator, for the oracle of any framework."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import torch

from isomorph.frameworks.pytorch.operand_devices import device_share

Array = np.ndarray[Any, Any]

_LIFTED = 1 << 26
"""Numbers of a matrix that are lifted at a time: half a gigabyte in float64."""
_PIECE = 1 << 24
"""Numbers of a matrix that are copied to the device at a time."""

_Key = tuple[int, tuple[int, ...], tuple[int, ...], str]


class DeviceProducts:
    """Products on one device: matrices lie there in their stored type, and are lifted there.

    A matrix that exceeds ``most_bytes`` together with those before it is left to the processor.
    """

    def __init__(self, device: torch.device, most_bytes: int | None = None) -> None:
        self.device = str(device)
        self._device = device
        self._most = self._free = device_share(device) if most_bytes is None else most_bytes
        self._moved: dict[_Key, torch.Tensor] = {}

    def product(self, rows: Array, stored: Array, *, absolute: bool) -> Array | None:
        """``rows @ stored`` in float64; None where the device has no memory for it."""
        try:
            matrix = self._matrix(stored)
            return None if matrix is None else self._multiplied(rows, matrix, absolute=absolute)
        except torch.cuda.OutOfMemoryError:
            # Something else uses the device too. What is not there yet is left to the processor.
            self._free = 0
            return None

    def close(self) -> None:
        """Release the matrices."""
        self._moved.clear()
        self._free = self._most

    def _multiplied(self, rows: Array, matrix: torch.Tensor, *, absolute: bool) -> Array:
        # PyTorch warns of memory that it may not write, as fed tensors are.
        left = torch.from_numpy(np.require(rows, requirements=["C", "W"])).to(self._device)
        inner, columns = matrix.shape
        found = torch.empty((len(rows), columns), dtype=torch.float64, device=self._device)
        width = max(1, _LIFTED // max(inner, 1))
        for start in range(0, columns, width):
            part = slice(start, min(start + width, columns))
            wide = matrix[:, part].to(torch.float64)
            found[:, part] = left @ (wide.abs() if absolute else wide)
        return np.asarray(found.cpu().numpy())

    def _matrix(self, stored: Array) -> torch.Tensor | None:
        """The matrix on the device; None where it does not fit."""
        if stored.strides[0] >= stored.strides[1]:
            return self._lying(stored)
        # A matrix and the same one transposed lie there once.
        turned = self._lying(stored.T)
        return None if turned is None else turned.T

    def _lying(self, stored: Array) -> torch.Tensor | None:
        place = stored.__array_interface__["data"][0]
        key = place, stored.shape, stored.strides, stored.dtype.str
        kept = self._moved.get(key)
        if kept is not None:
            return kept
        # Types that PyTorch does not share with NumPy are narrower than float32, which holds them.
        dtype = torch.float16 if stored.dtype == np.float16 else torch.float32
        size = stored.size * dtype.itemsize
        if size > self._free:
            return None
        moved = self._moved[key] = self._copied(stored, dtype)
        self._free -= size
        # Another array may lie at this address once this memory is released.
        weakref.finalize(_owner(stored), self._forget, key, size).atexit = False
        return moved

    def _copied(self, stored: Array, dtype: torch.dtype) -> torch.Tensor:
        moved = torch.empty(stored.shape, dtype=dtype, device=self._device)
        rows = max(1, _PIECE // stored.shape[1])
        between = torch.empty(
            (min(rows, len(stored)), stored.shape[1]),
            dtype=dtype,
            pin_memory=self._device.type == "cuda",
        )
        for start in range(0, len(stored), rows):
            piece = stored[start : start + rows]
            np.copyto(between[: len(piece)].numpy(), piece, casting="unsafe")
            moved[start : start + rows].copy_(between[: len(piece)])
        return moved

    def _forget(self, key: _Key, size: int) -> None:
        if self._moved.pop(key, None) is not None:
            self._free += size


def _owner(array: Array) -> Array:
    """The array whose memory this one shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array

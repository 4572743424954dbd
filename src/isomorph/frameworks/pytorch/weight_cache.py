"""The constants of a program in float64, kept within the limit of all oracles.

With an accelerator, large constants are kept there in their stored type and widened at each use,
matrices by ``device_products``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from isomorph.core.limits import LIFTED_WEIGHT_BYTES
from isomorph.core.memory import share_of_memory
from isomorph.frameworks.pytorch.arrays import stored_array
from isomorph.frameworks.pytorch.float64_steps import lifted
from isomorph.frameworks.pytorch.mapped_weights import LARGE
from isomorph.frameworks.pytorch.operand_devices import CPU, device_share
from isomorph.oracle.stored_matrix import StoredMatrix, is_large_matrix
from isomorph.oracle.weights import BoundedCache


class LiftedWeights:
    """Lifts a constant on first use, and keeps what fits."""

    def __init__(
        self,
        constants: Mapping[str, Any],
        release: Callable[[], None] = lambda: None,
        device: torch.device = CPU,
    ) -> None:
        self.constants, self.release = constants, release
        self._device = device
        self._on_device: BoundedCache[str, Any] = BoundedCache(device_share(device))
        self._matrices: dict[str, StoredMatrix] = {}
        self._kept: BoundedCache[str, Any] = BoundedCache(share_of_memory(LIFTED_WEIGHT_BYTES))
        held = (each for each in constants.values() if isinstance(each, torch.Tensor))
        self._all_fit = self._kept.fits(sum(8 * each.numel() for each in held))

    def owns(self, name: str, value: Any) -> bool:  # noqa: ANN401
        """Whether this value is the program's own constant, and not one fed in its place."""
        return value is self.constants.get(name)

    def wide(self, name: str) -> Any:  # noqa: ANN401
        """The constant in float64."""
        kept = self._kept.get(name)
        if kept is not None:
            return kept
        stored = self.constants[name]
        if self._device != CPU and stored.nbytes >= LARGE:
            return lifted(self._moved(name, stored))
        value = lifted(stored)
        self._kept.add(name, value, value.nbytes)
        self.release_stored(value)
        return value

    def matrix(self, name: str) -> StoredMatrix | None:
        """A constant that is lifted in blocks where it is multiplied; None where it is kept."""
        known = self._matrices.get(name)
        if known is not None:
            return known
        stored = self.constants[name]
        if self._kept.get(name) is not None:
            return None
        if self._device == CPU and self._kept.fits(8 * stored.numel()):
            return None
        array = stored_array(stored)
        if array is None or not is_large_matrix(array):
            return None
        found = self._matrices[name] = StoredMatrix(array)
        return found

    def _moved(self, name: str, stored: Any) -> Any:  # noqa: ANN401
        kept = self._on_device.get(name)
        if kept is not None:
            return kept
        value = stored.detach().to(self._device)
        self._on_device.add(name, value, value.nbytes)
        self.release_stored(value)
        return value

    def release_stored(self, used: Any) -> None:  # noqa: ANN401
        """Release the stored bytes of a large constant after it was used."""
        if used.nbytes >= LARGE:
            self.release()

    @property
    def complete(self) -> bool:
        """Whether all constants fit into what is kept."""
        return self._all_fit

    def clear(self) -> None:
        """Release everything."""
        self._kept.clear()
        self._on_device.clear()
        self._matrices.clear()

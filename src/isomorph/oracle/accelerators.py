"""Accelerators for the products of an oracle, found among the oracles of all frameworks.

The oracle of one framework may compute products on a device; that of any other asks it to.
"""

from __future__ import annotations

from collections.abc import Iterator

from isomorph import registry
from isomorph.core.execution import LosesDevice, MultipliesElsewhere, StoredProducts

CPU = "cpu"

_in_use: list[MultipliesElsewhere] = []
"""Oracles that compute products for others in this process."""


def products_on(device: str) -> StoredProducts | None:
    """The products with stored matrices on this device; None for the processor.

    A device that cannot be used is an error of the oracle that would use it.
    """
    if device == CPU:
        return None
    for oracle in _able():
        found = oracle.products_on(device)
        if oracle not in _in_use:
            _in_use.append(oracle)
        return found
    return None


def loses_device(error: BaseException) -> bool:
    """Whether after this error no product can be computed on a device that is in use here."""
    return any(isinstance(each, LosesDevice) and each.device_lost(error) for each in _in_use)


def _able() -> Iterator[MultipliesElsewhere]:
    for name in registry.names("frameworks"):
        oracle = registry.runtime(registry.framework(name).oracle)
        if isinstance(oracle, MultipliesElsewhere):
            yield oracle

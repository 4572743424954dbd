import numpy as np

from isomorph.store.spill import SpillingTensors


def test_tensors_beyond_the_budget_are_on_disk_and_equal():
    kept = SpillingTensors(budget=100)
    small, large = np.arange(8.0), np.arange(16.0)
    assert kept.keep(small) is small
    found = kept.keep(large)
    assert isinstance(found, np.memmap)
    assert np.array_equal(found, large)


def test_a_repeated_element_is_stored_once():
    """A model may expand one number to more than any disk holds."""
    expanded = np.broadcast_to(np.float64(1.0), (1 << 17, 1 << 17))
    assert SpillingTensors(budget=100).keep(expanded) is expanded

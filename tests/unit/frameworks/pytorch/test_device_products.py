"""Products on a device, here the processor itself: the numbers, and which matrices lie there."""

import gc

import ml_dtypes
import numpy as np
import pytest
import torch

from isomorph.frameworks.pytorch.device_products import DeviceProducts
from isomorph.oracle.stored_matrix import StoredMatrix, multiplying_by

AMPLE = 1 << 30


def drawn(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def products(most_bytes=AMPLE):
    return DeviceProducts(torch.device("cpu"), most_bytes)


STORED = {
    "by rows": drawn(70, 130),
    "by columns": drawn(130, 70).T,
    "every other column": drawn(70, 260)[:, ::2],
    "float16": drawn(70, 130, dtype=np.float16),
    "bfloat16": drawn(70, 130, dtype=ml_dtypes.bfloat16),
}


@pytest.mark.parametrize("name", STORED)
def test_the_numbers_are_those_of_float64(name, monkeypatch):
    from isomorph.frameworks.pytorch import device_products

    monkeypatch.setattr(device_products, "_LIFTED", 1 << 10)  # several parts
    monkeypatch.setattr(device_products, "_PIECE", 1 << 10)
    stored, rows = STORED[name], drawn(9, 70, dtype=np.float64)
    wide, elsewhere = stored.astype(np.float64), products()
    found = elsewhere.product(rows, stored, absolute=False)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, rows @ wide, rtol=1e-12, atol=1e-12)
    sizes = elsewhere.product(np.abs(rows), stored, absolute=True)
    np.testing.assert_allclose(sizes, np.abs(rows) @ np.abs(wide), rtol=1e-12)
    np.testing.assert_allclose(
        elsewhere.product(found, stored.T, absolute=False), found @ wide.T, rtol=1e-12, atol=1e-11
    )


def test_a_mapped_file_and_fed_numbers_are_read_without_being_written_to(tmp_path):
    drawn(70, 130).tofile(tmp_path / "weights")
    stored = np.memmap(tmp_path / "weights", np.float32, mode="r", shape=(70, 130))
    rows = drawn(9, 70, dtype=np.float64)
    rows.flags.writeable = False
    found = products().product(rows, stored, absolute=False)
    np.testing.assert_allclose(found, rows @ np.asarray(stored, np.float64), rtol=1e-12, atol=1e-12)


def test_a_matrix_lies_there_once_for_both_orders_and_every_view():
    elsewhere, stored = products(), drawn(70, 130)
    rows = drawn(9, 70, dtype=np.float64)
    first = elsewhere.product(rows, stored, absolute=False)
    elsewhere.product(first, stored.T, absolute=False)
    elsewhere.product(rows, stored[:], absolute=True)
    assert len(elsewhere._moved) == 1


def test_a_matrix_goes_when_its_memory_does_and_another_one_may_take_its_place():
    elsewhere, rows = products(70 * 130 * 4), drawn(9, 70, dtype=np.float64)
    for number in range(3):
        stored = drawn(70, 130) * np.float32(number + 1)
        found = elsewhere.product(rows, stored, absolute=False)
        np.testing.assert_allclose(found, rows @ stored.astype(np.float64), rtol=1e-12, atol=1e-12)
        del stored
        gc.collect()
        assert not elsewhere._moved


def test_what_does_not_fit_is_left_to_the_processor():
    elsewhere, one, other = products(70 * 130 * 4), drawn(70, 130), drawn(70, 131)
    rows = drawn(9, 70, dtype=np.float64)
    assert elsewhere.product(rows, one, absolute=False) is not None
    assert elsewhere.product(rows, other, absolute=False) is None
    with multiplying_by(elsewhere):
        found = StoredMatrix(other).product(rows)
    np.testing.assert_array_equal(found, StoredMatrix(other).product(rows))
    elsewhere.close()
    assert elsewhere.product(rows, other, absolute=False) is None  # it is larger than all
    assert elsewhere.product(rows, one, absolute=False) is not None


def test_a_device_without_memory_leaves_the_product_to_the_processor(monkeypatch):
    def exhausted(*_, **__):
        raise torch.cuda.OutOfMemoryError("out of memory")

    elsewhere, rows = products(), drawn(9, 70, dtype=np.float64)
    monkeypatch.setattr(elsewhere, "_copied", exhausted)
    assert elsewhere.product(rows, drawn(70, 130), absolute=False) is None


def test_a_stored_matrix_is_multiplied_there_only_within_the_block():
    asked = []

    class Recording:
        device = "elsewhere"

        def product(self, rows, stored, *, absolute):
            asked.append((len(rows), stored.shape, absolute))
            return rows @ (np.abs(stored) if absolute else stored).astype(np.float64)

        def close(self):
            pass

    stored, rows = drawn(70, 130), drawn(2, 3, 70, dtype=np.float64)
    with multiplying_by(Recording()):
        one, two = StoredMatrix(stored).products([rows, rows[0]])
        sizes = StoredMatrix(stored).product_sizes(rows)
    assert asked == [(9, (70, 130), False), (6, (70, 130), True)]
    assert (one.shape, two.shape, sizes.shape) == ((2, 3, 130), (3, 130), (2, 3, 130))
    StoredMatrix(stored).product(rows)
    assert len(asked) == 2

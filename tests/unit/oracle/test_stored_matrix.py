"""Products with a stored matrix that is lifted in blocks: the numbers and bits of a whole one."""

import ml_dtypes
import numpy as np
import pytest

from isomorph.core.threads import use_threads
from isomorph.oracle import stored_matrix
from isomorph.oracle.stored_matrix import StoredMatrix, is_large_matrix


@pytest.fixture(autouse=True)
def _one_thread():
    yield
    use_threads(1)


def drawn(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


STORED = {
    "by rows": drawn(70, 130),
    "by columns": drawn(130, 70).T,
    "every other column": drawn(70, 260)[:, ::2],
    "float16": drawn(70, 130, dtype=np.float16),
    "bfloat16": drawn(70, 130, dtype=ml_dtypes.bfloat16),
}


@pytest.mark.parametrize("name", STORED)
def test_a_product_is_that_with_the_lifted_matrix(name):
    stored, a = STORED[name], drawn(2, 5, 70, dtype=np.float64)
    wide = stored.astype(np.float64)
    found = StoredMatrix(stored).product(a)
    np.testing.assert_allclose(found, a @ wide, rtol=1e-12, atol=1e-12)
    sizes = StoredMatrix(stored).sizes().product(np.abs(a))
    np.testing.assert_allclose(sizes, np.abs(a) @ np.abs(wide), rtol=1e-5)
    turned = StoredMatrix(stored).T
    assert turned.shape == stored.shape[::-1]
    np.testing.assert_allclose(
        turned.product(found), found @ wide.T, rtol=1e-12, atol=1e-12 * np.max(np.abs(found)) * 130
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1.0, 1e40, 1e300])
def test_sizes_of_sums_have_the_range_of_float64(scale):
    matrix, a = StoredMatrix(STORED["by rows"]).sizes(), np.abs(drawn(5, 70)) * np.float64(scale)
    expected = a @ np.abs(STORED["by rows"]).astype(np.float64)
    np.testing.assert_allclose(matrix.product(a), expected, rtol=1e-5)
    a[1], a[2, 3], a[3, 4] = 0.0, np.inf, np.nan
    found = matrix.product(a)
    assert not found[1].any()
    assert np.isinf(found[2]).all()
    assert np.isnan(found[3]).all()
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)


def test_sums_of_whole_numbers_have_whole_sizes():
    whole = np.arange(-600, 600, dtype=np.float32).reshape(30, 40)
    a = np.arange(60, dtype=np.float64).reshape(2, 30) * 3.0
    assert np.array_equal(StoredMatrix(whole).sizes().product(a), a @ np.abs(whole))


@pytest.mark.parametrize("name", STORED)
def test_other_readers_get_an_array_of_float64(name):
    matrix, wide = StoredMatrix(STORED[name]), STORED[name].astype(np.float64)
    assert np.asarray(matrix).dtype == matrix.dtype == np.float64
    assert np.array_equal(np.asarray(matrix), wide)
    assert np.array_equal(np.asarray(matrix.sizes()), np.abs(wide))


@pytest.mark.parametrize("name", STORED)
def test_no_number_of_threads_changes_a_bit(name, monkeypatch):
    monkeypatch.setattr(stored_matrix, "_PART_WORK", 1)
    monkeypatch.setattr(stored_matrix, "_MOST_COLUMNS", 8)
    found, a = [], drawn(5, 70, dtype=np.float64)
    for count in (1, 4):
        use_threads(count)
        found.append(StoredMatrix(STORED[name]).product(a))
    assert np.array_equal(*found)


def test_several_operands_are_multiplied_in_one_pass(monkeypatch):
    matrix = StoredMatrix(STORED["by rows"])
    operands = [drawn(2, 3, 70, dtype=np.float64), drawn(4, 70, dtype=np.float64)]
    alone = [matrix.product(each) for each in operands]
    matrix.prepare(operands)
    monkeypatch.setattr(matrix, "_multiplied", None)
    for operand, one in zip(operands, alone, strict=True):
        np.testing.assert_allclose(matrix.product(operand), one, rtol=1e-12, atol=1e-12)
    with pytest.raises(TypeError):
        matrix.product(operands[0].copy())  # equal numbers are another operand


def test_what_was_prepared_for_the_transposed_matrix_is_found_there(monkeypatch):
    matrix, a = StoredMatrix(STORED["by rows"]), drawn(4, 130, dtype=np.float64)
    expected = matrix.T.product(a)
    matrix.T.prepare([a])
    monkeypatch.setattr(StoredMatrix, "_multiplied", None)
    np.testing.assert_allclose(matrix.T.product(a), expected, rtol=1e-12)


def test_draws_that_share_an_operand_have_a_product_each():
    matrix, a = StoredMatrix(STORED["by rows"]), drawn(4, 70, dtype=np.float64)
    matrix.prepare([a, a])
    first, second = matrix.product(a), matrix.product(a)
    assert np.array_equal(first, second)
    assert not np.shares_memory(first, second)


def test_sizes_of_several_products_are_computed_in_one_pass_when_one_is_asked_for(monkeypatch):
    matrix, a = StoredMatrix(STORED["by rows"]), drawn(2, 70, dtype=np.float64)
    other = drawn(2, 3, 70, dtype=np.float64)
    alone = [matrix.product_sizes(each) for each in (a, other)]
    passes, plain = [], StoredMatrix._multiplied

    def counted(self, rows):
        passes.append(len(rows))
        return plain(self, rows)

    monkeypatch.setattr(StoredMatrix, "_multiplied", counted)
    matrix.prepare([a, other], [a, other])
    assert passes == [8]
    for operand, one in zip((a, other), alone, strict=True):
        np.testing.assert_allclose(matrix.product_sizes(operand), one, rtol=1e-6)
    assert passes == [8, 8]
    np.testing.assert_allclose(matrix.product_sizes(a.copy()), alone[0], rtol=1e-6)
    assert passes == [8, 8, 2], "equal numbers are another operand"
    matrix.release()
    matrix.product_sizes(a)
    assert passes == [8, 8, 2, 2]


def test_it_multiplies_rows_of_float64_of_its_height():
    matrix = StoredMatrix(STORED["by rows"])
    assert matrix.multiplies(np.ones((2, 70)))
    for other in (np.ones((2, 71)), np.ones(70), np.ones((2, 70), np.float32), None):
        assert not matrix.multiplies(other)


def test_blocks_of_long_columns_are_narrow_and_none_is_empty():
    assert stored_matrix._columns(np.ones((1, 64))) == stored_matrix._MOST_COLUMNS
    assert stored_matrix._columns(np.ones((1, 1 << 20))) == stored_matrix._FEWEST_COLUMNS
    rows = np.ones((3, 70))
    parts = stored_matrix._parts(rows, 130)
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, 130)


def test_a_large_matrix_has_two_axes_and_many_numbers():
    assert is_large_matrix(np.zeros((1 << 10, 1 << 10), np.float16))
    assert not is_large_matrix(np.zeros((1 << 9, 1 << 10)))
    assert not is_large_matrix(np.zeros(1 << 20))
    assert not is_large_matrix([1.0])

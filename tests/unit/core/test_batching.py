from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.batching import batches


def test_batches_keep_the_order_and_a_large_tensor_stands_alone():
    sizes = {"a": 3, "b": 3, "c": 50, "d": 3, "e": 3}
    assert batches("abcde", sizes.__getitem__, 7) == [["a", "b"], ["c"], ["d", "e"]]
    assert batches([], sizes.__getitem__, 7) == []


@given(st.lists(st.integers(0, 20)), st.integers(0, 30))
def test_a_batch_fits_or_is_one_tensor_and_none_could_take_the_next(sizes, most):
    found = batches(range(len(sizes)), sizes.__getitem__, most)
    assert [place for batch in found for place in batch] == list(range(len(sizes)))
    totals = [sum(sizes[place] for place in batch) for batch in found]
    for batch, total in zip(found, totals, strict=True):
        assert total <= most or len(batch) == 1
    for total, after in zip(totals, found[1:], strict=False):
        assert total + sizes[after[0]] > most

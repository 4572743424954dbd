import numpy as np
import pytest

from isomorph.core.errors import RefusedError, UsageError
from isomorph.core.model import TensorSpec
from isomorph.core.report import Binding
from isomorph.inputs.data_sets import data_set
from isomorph.inputs.sample_batching import for_both, slices
from isomorph.store.input_files import read_arrays

X = TensorSpec(name="x", dtype="float32", shape=(2, 3))
FREE = TensorSpec(name="x", dtype="float32", shape=("batch", 3))
MASK = TensorSpec(name="mask", dtype="float32", shape=("time", 3))


def rows(count, width=3):
    return np.arange(count * width, dtype=np.float32).reshape(count, width)


def drawn(path, specs=(FREE,), dims=None, **words):
    return list(data_set(path, **words).samples(specs, dims or {}))


def test_a_folder_gives_one_sample_per_file_by_name(tmp_path):
    np.savez(tmp_path / "b.npz", x=rows(1) + 1)
    np.save(tmp_path / "a.npy", rows(4))
    (tmp_path / "notes.txt").write_text("no sample")
    (tmp_path / ".hidden.npy").write_text("no sample")
    (tmp_path / "folder.npy").mkdir()
    found = drawn(tmp_path)
    assert [each.sample.origin for each in found] == ["a.npy", "b.npz"]
    assert found[0].sample.feeds["x"].shape == (4, 3)  # a batch of its own


def test_a_file_is_cut_into_batches_of_the_model(tmp_path):
    np.save(tmp_path / "all.npy", rows(7))
    data = data_set(tmp_path / "all.npy")
    found = list(data.samples((X,), {}))
    assert [each.sample.origin for each in found] == [f"all.npy[{n}]" for n in range(4)]
    assert np.array_equal(found[2].sample.feeds["x"], rows(7)[4:6])
    assert [each.repeats for each in found] == [False] * 3 + [True]
    assert np.array_equal(found[3].sample.feeds["x"], rows(7)[5:7]), "the last row fills a batch"
    assert not data.skipped()


def test_rows_left_over_without_the_rest_of_their_feed_are_noted(tmp_path):
    other = TensorSpec(name="z", dtype="float32", shape=(3,))
    np.savez(tmp_path / "all.npz", x=rows(7), z=np.zeros((3, 3), np.float32))
    data = data_set(tmp_path / "all.npz")
    assert len(list(data.samples((X, other), {}))) == 3
    assert [each.what for each in data.skipped()] == ["the last 1 rows of all.npz"]


@pytest.mark.parametrize(("dims", "count"), [({}, 6), ({"batch": 3}, 2)])
def test_a_dynamic_batch_is_streamed_one_by_one_or_as_stated(tmp_path, dims, count):
    np.savez(tmp_path / "all.npz", x=rows(6), mask=rows(6))
    found = drawn(tmp_path / "all.npz", (FREE, MASK), dims)
    assert len(found) == count
    # An axis of another name is no batch: it goes whole into every sample.
    assert {each.sample.feeds["mask"].shape for each in found} == {(6, 3)}


def test_one_axis_more_counts_the_feeds_and_one_less_is_a_single_sample(tmp_path):
    cut = slices((X,), {"x": np.zeros((5, 2, 3))}, {}, streamed=False)
    assert cut.count == 5
    assert cut.feed({"x": np.zeros((5, 2, 3))}, 4)["x"].shape == (2, 3)
    single = slices((FREE,), {"x": np.zeros(3)}, {}, streamed=True)
    assert single.count == 1
    assert single.feed({"x": np.zeros(3)}, 0)["x"].shape == (1, 3)


def test_what_is_no_input_goes_along_with_its_sample(tmp_path):
    np.savez(tmp_path / "all.npz", x=rows(6), label=np.arange(6), classes=np.arange(9))
    with pytest.raises(UsageError, match="no input 'label'"):
        drawn(tmp_path / "all.npz")
    found = drawn(tmp_path / "all.npz", spare=True)
    assert [int(each.arrays["label"][0]) for each in found] == list(range(6))
    assert found[0].arrays["classes"].shape == (9,)
    assert set(found[0].sample.feeds) == {"x"}


def test_different_numbers_of_samples_are_an_error(tmp_path):
    other = TensorSpec(name="y", dtype="float32", shape=("batch", 3))
    np.savez(tmp_path / "all.npz", x=rows(6), y=rows(5))
    with pytest.raises(UsageError, match="different numbers of samples") as caught:
        drawn(tmp_path / "all.npz", (FREE, other))
    assert caught.value.code == "SAMPLES_DISAGREE"


def test_an_empty_folder_and_an_empty_file_hold_no_samples(tmp_path):
    with pytest.raises(UsageError) as caught:
        data_set(tmp_path)
    assert caught.value.code == "NO_SAMPLES"
    np.save(tmp_path / "none.npy", rows(0))
    assert drawn(tmp_path / "none.npy") == []
    with pytest.raises(UsageError, match="no such file"):
        data_set(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("make", "kind", "code"),
    [
        (lambda path: path.write_bytes(b"garbage"), UsageError, "INPUTS_UNREADABLE"),
        (lambda path: np.save(path, rows(2, width=5)), UsageError, "INPUT_SHAPE"),
        (
            lambda path: np.save(path, np.array([{}], object), allow_pickle=True),
            RefusedError,
            "UNSAFE_PICKLE",
        ),
    ],
)
def test_a_bad_file_is_named_with_its_place(tmp_path, make, kind, code):
    np.save(tmp_path / "a.npy", rows(2))
    make(tmp_path / "b.npy")
    with pytest.raises(kind) as caught:
        drawn(tmp_path)
    assert caught.value.code == code
    assert "b.npy: file 2 of 2" in caught.value.sentence


def test_an_archive_beyond_memory_is_mapped_not_read(tmp_path):
    wide = TensorSpec(name="x", dtype="float32", shape=("batch", 100))
    array = rows(400, width=100)
    np.savez(tmp_path / "large.npz", x=array, ö=rows(400))
    read = read_arrays(tmp_path / "large.npz", most_bytes=1000)
    assert isinstance(read["x"].base, np.memmap)
    assert np.array_equal(read["x"], array)
    assert np.array_equal(read["ö"], rows(400))
    assert not isinstance(read_arrays(tmp_path / "large.npz")["x"].base, np.memmap)
    found = data_set(tmp_path / "large.npz", memory=8000, spare=True).samples((wide,), {})
    assert [each.sample.feeds["x"][0, 0] for each in found] == list(array[:, 0])


def test_a_compressed_archive_beyond_memory_is_an_error(tmp_path):
    np.savez_compressed(tmp_path / "large.npz", x=rows(4000))
    with pytest.raises(UsageError) as caught:
        drawn(tmp_path / "large.npz", memory=8000)
    assert caught.value.code == "DATA_TOO_LARGE"
    assert len(drawn(tmp_path / "large.npz")) == 4000


@pytest.mark.parametrize(
    ("candidate", "batch"),
    [((1, 3), 1), (("n", 3), "batch"), ((3, 5), "batch"), ((5, None), 5), (None, "batch")],
)
def test_a_batch_that_only_the_candidate_fixes_cuts_the_samples(candidate, batch):
    """(3, 5) has the axes in another order: its first one is no batch."""
    taken = TensorSpec(name="in", dtype="float32", shape=candidate)
    pairs = [Binding(reference="x", candidate="in", how="position")]
    (found,) = for_both([FREE], [taken], pairs)
    assert found.shape == (batch, 3)
    assert for_both([X], [taken], pairs) == (X,), "what the reference fixes stays"
    if batch == 1:
        assert slices([found], {"x": rows(2)}, {}, streamed=False).count == 2

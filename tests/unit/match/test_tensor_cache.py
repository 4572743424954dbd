import mmap
import tempfile

import numpy as np
import psutil

from isomorph.match.tensor_cache import TensorCache


def _in_a_file(values):
    with tempfile.TemporaryFile() as file:
        file.write(values.tobytes())
        file.flush()
        whole = mmap.mmap(file.fileno(), values.nbytes, access=mmap.ACCESS_COPY)
    return np.frombuffer(whole, np.uint8).view(values.dtype).reshape(values.shape)


def _walked(made):
    asked = []

    def compute(batch):
        asked.append(tuple(batch))
        return {name: made(np.full(100, float(ord(name)))) for name in batch}

    kept = TensorCache([("a",), ("b",), ("c",)], compute, memory_bytes=1000)
    for name in "abcabc":
        assert kept[name][0] == ord(name)
    return len(asked)


def test_what_does_not_fit_is_computed_again():
    assert _walked(lambda values: values) == 6


def test_what_lies_in_a_file_takes_no_memory_and_stays():
    assert _walked(_in_a_file) == 3


def test_of_what_lies_in_files_little_is_in_memory_at_a_time():
    size, names = 1 << 20, "abcdefghijkl"

    def compute(batch):
        return {name: _in_a_file(np.full(size // 2, float(ord(name)))) for name in batch}

    kept = TensorCache([(name,) for name in names], compute, memory_bytes=8 * size)
    before = psutil.Process().memory_info().rss
    for name in names + names:
        assert kept[name].sum() == ord(name) * (size // 2)
    grown = psutil.Process().memory_info().rss - before
    assert grown < len(names) * (size // 2) * 8 / 2

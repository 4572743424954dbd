"""Vectors whose sample does not agree are those that the comparison one by one refuses."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.match.arranged_weights import agreeing_arrangements
from isomorph.match.element_bounds import Source
from isomorph.match.sampled_vectors import SampledVectors
from isomorph.match.stored_weights import StoredWeight

SIZE = 1000


def _weight(name, shape=(SIZE,), dtype="float32"):
    return StoredWeight(
        name=name, dtype=dtype, shape=shape, digest=name, value_digest=name, readers=()
    )


class _Reference:
    """The numbers of weights by name; counts how often each is read."""

    def __init__(self, values):
        self.values, self.reads = values, []

    def numbers(self, weight):
        self.reads.append(weight.name)
        return self.values.get(weight.name)


@pytest.fixture
def side():
    random = np.random.default_rng(0)
    actual = random.normal(size=SIZE)
    half_wrong, mostly_wrong = actual.copy(), actual.copy()
    half_wrong[::2] += 1.0
    mostly_wrong[SIZE // 8 :] += 1.0
    values = {
        "same": actual.astype(np.float32), "other": random.normal(size=SIZE).astype(np.float32),
        "half_wrong": half_wrong.astype(np.float32), "nan": np.full(SIZE, np.nan, np.float32),
        "mostly_wrong": mostly_wrong.astype(np.float32), "narrow": actual.astype(np.float16),
    }  # fmt: skip
    sources = [_weight(name, dtype=str(value.dtype)) for name, value in values.items()]
    return SimpleNamespace(actual=actual, reference=_Reference(values), sources=sources)


def test_the_same_vectors_agree_as_one_by_one(side):
    weight = _weight("w")
    unlike = SampledVectors(side.reference).unlike(weight, side.actual, side.sources)
    for source in side.sources:
        value, terms = side.reference.values[source.name], Source(dtype=source.dtype)
        agrees = any(True for _ in agreeing_arrangements(value, side.actual, weight, terms))
        assert (source.name in unlike) is not agrees
    assert unlike == {"other", "mostly_wrong", "nan"}


def test_each_vector_is_read_once(side):
    samples = SampledVectors(side.reference)
    for number in range(3):
        samples.unlike(_weight(f"w{number}"), side.actual + number, side.sources)
    assert sorted(side.reference.reads) == sorted(side.reference.values)


def test_what_is_no_vector_or_cannot_be_read_is_left_to_the_other_comparison(side):
    samples = SampledVectors(side.reference)
    matrix = side.actual.reshape(10, -1)
    assert not samples.unlike(_weight("w", matrix.shape), matrix, side.sources)
    absent = [_weight("absent"), _weight("other", (SIZE, 1))]
    assert not samples.unlike(_weight("w"), side.actual, absent)

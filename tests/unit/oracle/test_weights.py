"""What an oracle keeps of stored tensors between runs."""

import numpy as np

from isomorph.oracle.value import EvalValue
from isomorph.oracle.weights import BoundedCache, FoldedConstants, WeightCache


class _Step:
    index = 3


def test_a_cache_takes_what_fits_and_is_empty_after_clear() -> None:
    cache: BoundedCache[str, int] = BoundedCache(10)
    assert cache.add("a", 1, 6)
    assert not cache.add("b", 2, 5)
    assert (cache.get("a"), cache.get("b")) == (1, None)
    cache.clear()
    assert cache.get("a") is None
    assert cache.add("b", 2, 10)


def test_a_weight_is_read_once_within_the_limit_and_at_each_use_beyond_it() -> None:
    reads: list[str] = []

    def read(name: str) -> EvalValue:
        reads.append(name)
        return EvalValue(np.ones(4 if name == "small" else 400, np.float32), constant=True)

    weights = WeightCache(read, limit=4 * 12)
    for _ in range(2):
        assert weights.value("small").wide().dtype == np.float64
        assert weights.value("large").constant
    assert reads == ["small", "large", "large"]


def test_a_derived_array_is_kept_only_beside_the_stored_value() -> None:
    stored = EvalValue(np.ones(4, np.int8), constant=True)
    weights = WeightCache(lambda _: stored, limit=1000)
    made: list[int] = []

    def make() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        made.append(1)
        return np.ones(4)

    weights.value("w")
    for _ in range(2):
        weights.derived("w", "grid", EvalValue(np.ones(4, np.int8), constant=True), make)
    assert len(made) == 2
    for _ in range(2):
        weights.derived("w", "grid", stored, make)
    assert len(made) == 3
    fed = EvalValue(np.zeros(4, np.int8), constant=True)
    assert weights.derived("w", "grid", fed, lambda: np.zeros(4)).max() == 0.0


def test_only_constant_arrays_that_fit_are_kept_as_folded() -> None:
    folded = FoldedConstants({"a", "b"}, limit=64)
    folded.keep(_Step(), ["a", "x"], [EvalValue(np.ones(1)), EvalValue(np.ones(1))])
    folded.keep(_Step(), ["a"], [EvalValue([np.ones(1)])])
    folded.keep(_Step(), ["a"], [EvalValue(np.ones(5))])
    assert folded.outputs(_Step()) is None
    outputs = [EvalValue(np.ones(2)), EvalValue(np.ones(2))]
    folded.keep(_Step(), ["a", ""], outputs)
    assert folded.outputs(_Step()) is outputs

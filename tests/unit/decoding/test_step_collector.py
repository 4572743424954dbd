"""The first wrong cache: by step, and then by layer."""

from isomorph.core.decoding import CacheErrors
from isomorph.decoding.step_collector import first_wrong


def cache(layer, wrong):
    return CacheErrors(
        reference="", candidate="", layer=layer, part="", verdicts=(), errors=(), ratios=(),
        first_wrong=wrong,
    )  # fmt: skip


def test_an_earlier_step_comes_first_and_then_a_lower_layer():
    assert first_wrong([cache(0, 2), cache(3, 1), cache(1, 1), cache(2, None)]) == 2
    assert first_wrong([cache(0, None)]) is None
    assert first_wrong([]) is None

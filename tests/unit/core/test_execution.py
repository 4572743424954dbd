"""What the facts of a run show about its execution provider."""

from isomorph.core.execution import PROVIDERS_ASKED, PROVIDERS_USED, provider_fallback


def fallback(asked, used):
    return provider_fallback({PROVIDERS_ASKED: asked, PROVIDERS_USED: used})


def test_the_first_provider_in_use_is_no_fallback():
    assert fallback("CUDA", "CUDA, CPU") is None
    assert fallback("CPU", "CPU") is None
    assert provider_fallback({}) is None


def test_a_further_choice_is_accepted_and_another_provider_is_not():
    assert fallback("CUDA, CPU", "CPU").accepted
    found = fallback("CUDA", "CPU")
    assert not found.accepted
    assert (found.asked, found.used) == (("CUDA",), ("CPU",))

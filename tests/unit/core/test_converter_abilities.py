"""Passes to leave out travel in one option."""

from isomorph.core.converter_abilities import WITHOUT_PASSES, passes_without


def test_passes_are_lines_of_an_option():
    assert passes_without({WITHOUT_PASSES: "fold constants\nfuse"}) == ("fold constants", "fuse")
    assert passes_without({WITHOUT_PASSES: ""}) == ()
    assert passes_without({}) == ()

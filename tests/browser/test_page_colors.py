"""The colors of the page: the same for every verdict, told apart by everybody, easy to read."""

import pytest

from colors import least_distance

LINES = ("reference", "candidate", "translation")


def _color(page, name):
    return page.evaluate(
        "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()",
        f"--{name}",
    )


def _in_scheme(opened, divergent, scheme, verdict="divergent"):
    page = opened({**divergent, "verdict": verdict})
    page.emulate_media(color_scheme=scheme)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_three_errors_have_the_same_colors_in_every_verdict(opened, divergent, scheme):
    shown = set()
    for verdict in ("equivalent", "degraded", "divergent", "unknown"):
        page = _in_scheme(opened, divergent, scheme, verdict)
        lines = tuple(_color(page, each) for each in LINES)
        assert _color(page, "accent") not in lines
        shown.add(lines)
    assert len(shown) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_kind_of_color_vision_tells_the_three_errors_apart(opened, divergent, scheme):
    page = _in_scheme(opened, divergent, scheme)
    assert least_distance([_color(page, each) for each in LINES]) > 25
    assert least_distance(["#d62728", "#2ca02c"]) < 25, "red and green would not do"

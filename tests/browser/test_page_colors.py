"""The colors of the page: the same for every verdict, distinguishable, easy to read."""

import pytest

from colors import contrast, least_distance

VERDICTS = ("equivalent", "degraded", "divergent", "unknown")
LINES = ("reference", "candidate", "translation")


def _color(page, name):
    return page.evaluate(
        "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()",
        f"--{name}",
    )


def _in_scheme(opened, divergent, scheme):
    page = opened(divergent)
    page.emulate_media(color_scheme=scheme)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_three_errors_have_the_same_colors_in_every_verdict(opened, divergent, scheme):
    shown = set()
    page = _in_scheme(opened, divergent, scheme)
    for verdict in VERDICTS:
        page.evaluate("word => (document.documentElement.dataset.verdict = word)", verdict)
        lines = tuple(_color(page, each) for each in LINES)
        assert _color(page, "accent") not in lines
        shown.add(lines)
    assert len(shown) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_kind_of_color_vision_tells_the_three_errors_apart(opened, divergent, scheme):
    page = _in_scheme(opened, divergent, scheme)
    assert least_distance([_color(page, each) for each in LINES]) > 25
    assert least_distance(["#d62728", "#2ca02c"]) < 25, "red and green would not do"


CONTRASTS = """() => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], under) =>
    [r, g, b].map((part, at) => part * a + under[at] * (1 - a));
  const light = (color) => {
    const [r, g, b] = color.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    if (one === null) return [255, 255, 255];
    const own = parts(getComputedStyle(one).backgroundColor);
    return (own[3] ?? 1) === 1 ? own.slice(0, 3) : over(own, behind(one.parentElement));
  };
  const found = [];
  const walk = document.createTreeWalker(document.getElementById('page'), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (walk.currentNode.data.trim() === '' || one.getClientRects().length === 0) continue;
    const style = getComputedStyle(one);
    const paper = behind(one);
    const text = parts(style.color);
    text[3] = (text[3] ?? 1) * Number(style.opacity);
    const [a, b] = [light(over(text, paper)), light(paper)];
    const svg = one.closest('svg') ? light(over(parts(style.fill), paper)) : a;
    const contrast = (Math.max(svg, b) + 0.05) / (Math.min(svg, b) + 0.05);
    found.push([contrast, one.outerHTML.slice(0, 120)]);
  }
  return found.sort((x, y) => x[0] - y[0]).slice(0, 5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out_from_what_is_behind_it(opened, divergent, scheme):
    page = _in_scheme(opened, divergent, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    page.fill("#graphs input[type=search]", "conv")
    for verdict in VERDICTS:
        page.evaluate("word => (document.documentElement.dataset.verdict = word)", verdict)
        worst = page.evaluate(CONTRASTS)
        assert worst[0][0] >= 4.5, worst
    names = ("focus", "candidate", "reference", "translation")
    behind = [_color(page, each) for each in ("paper", "raised", "sunken")]
    assert min(contrast(_color(page, one), two) for one in names for two in behind) >= 4.5


def test_every_control_shows_that_it_has_the_focus(opened, divergent):
    page = opened(divergent)
    seen = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        style = page.evaluate(
            """() => {
              const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
              return [document.activeElement.tagName, outlineStyle, parseFloat(outlineWidth)];
            }"""
        )
        seen.add(style[0])
        if style[0] == "BODY":  # behind the last control
            break
        assert style[1] == "solid", style
        assert style[2] >= 2, style
    assert {"A", "BUTTON", "INPUT", "DIV", "SUMMARY", "SELECT"} <= seen


def test_nothing_moves_by_itself_where_that_is_not_wanted(opened, divergent):
    page = opened(divergent)
    behavior = "getComputedStyle(document.documentElement).scrollBehavior"
    assert page.evaluate(behavior) == "auto"
    assert page.evaluate("document.getAnimations().length") == 0
    durations = """[...document.querySelectorAll('*')]
      .map(one => getComputedStyle(one).transitionDuration).filter(one => one !== '0s')"""
    assert page.evaluate(durations) == []
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(behavior) == "smooth"
    page.emulate_media(reduced_motion="reduce")

"""The whole graphs of the page: from modules to nodes, searched, with a map, of any size."""

import copy

import pytest

PANES = ("reference", "candidate")


@pytest.fixture
def modular(divergent):
    """The same report with modules: two blocks of two layers each, and a pool."""
    document = copy.deepcopy(divergent)
    for graph in document["profile"]["graphs"]:
        graph["modules"] = [f"net.block{place // 4}.layer{place // 2}" for place in range(8)]
        graph["modules"].append("net")
    return document


def _pane(page, role):
    return page.locator(".whole").nth(PANES.index(role))


def _note(page, role):
    return page.locator(".pane-note").nth(PANES.index(role)).inner_text()


def _parts(page, role="candidate"):
    return int(_pane(page, role).get_attribute("data-parts"))


def _settle(page):
    """Wait until what was asked for is drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _chosen_at(page, role):
    """Where the chosen node is drawn, from the middle of its pane, by the size of the pane."""
    pane = _pane(page, role)
    x, y = map(float, pane.get_attribute("data-chosen-at").split(","))
    box = pane.bounding_box()
    return abs(x / box["width"] - 0.5), abs(y / box["height"] - 0.5)


def _press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    _settle(page)


def _tools(page):
    return page.locator(".whole-tools")


def test_show_in_graphs_brings_the_node_into_the_middle_of_both(opened, modular):
    page = opened(modular)
    _tools(page).get_by_role("button", name="Close all").click()
    page.evaluate("scrollTo(0, 0)")
    page.locator(".card button.locate").first.click()
    _settle(page)
    for role in PANES:
        assert max(_chosen_at(page, role)) < 0.2, role
        assert _pane(page, role).bounding_box()["y"] < 900, "the graphs are on the screen"
    assert "a_relu2" in _note(page, "reference")
    assert "b_relu2" in _note(page, "candidate")
    assert "finding 1" in _note(page, "candidate")


def test_the_first_finding_is_in_the_middle_of_both_graphs_at_first_sight(opened, modular):
    page = opened(modular)
    page.locator(".whole").first.scroll_into_view_if_needed()
    _settle(page)
    for role in PANES:
        assert max(_chosen_at(page, role)) < 0.2, role


def test_modules_open_and_close_by_keyboard(opened, modular):
    page = opened(modular)
    _tools(page).get_by_role("button", name="Open all").click()
    _settle(page)
    everything = _parts(page)
    assert everything == 9 + 2 + 4, "nodes, blocks and layers"
    _pane(page, "candidate").focus()
    _press(page, "Home")
    assert "module block0" in _note(page, "candidate")
    _press(page, "ArrowLeft")
    assert "closed" in _note(page, "candidate")
    assert _parts(page) == everything - 6
    _press(page, "ArrowDown")
    assert "block1" in _note(page, "candidate")
    assert "finding 1 inside" in _note(page, "candidate")
    _press(page, "ArrowUp", "ArrowRight", "ArrowRight", "ArrowRight", "Enter")
    assert "b_conv0" in page.inner_text("#profile .readout")
    assert "a_conv0" in _note(page, "reference"), "chosen in the other graph, too"


def test_a_click_opens_a_module_and_chooses_a_node(opened, modular):
    page = opened(modular)
    pane = _pane(page, "candidate")
    pane.focus()
    _press(page, "Home", "ArrowLeft", "0")
    closed = _parts(page)
    page.mouse.click(*_found(page, "block0"))
    _settle(page)
    assert _parts(page) == closed + 6
    page.mouse.click(*_found(page, "b_relu0"))
    assert "b_relu0" in page.inner_text("#profile .readout")


def _found(page, words):
    """A point of the candidate's pane at which a part of this name is drawn."""
    box = _pane(page, "candidate").bounding_box()
    x = box["x"] + (box["width"] - 40) / 2
    for y in range(2, int(box["height"]), 6):
        page.mouse.move(x, box["y"] + y)
        over = page.evaluate("document.querySelectorAll('.whole canvas')[2].style.cursor")
        if over == "pointer" and words in _note(page, "candidate"):
            return x, box["y"] + y + 4
    raise AssertionError(f"{words} is not drawn")


def test_the_wheel_zooms_with_control_alone(opened, modular):
    page = opened(modular)
    pane = _pane(page, "candidate")
    pane.scroll_into_view_if_needed()
    box = pane.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    before = pane.get_attribute("data-zoom")
    page.mouse.wheel(0, 60)
    _settle(page)
    assert pane.get_attribute("data-zoom") == before
    page.keyboard.down("Control")
    page.mouse.wheel(0, 120)
    page.keyboard.up("Control")
    _settle(page)
    assert float(pane.get_attribute("data-zoom")) < float(before)


def test_dragging_and_the_map_move_the_graph(opened, modular):
    page = opened(modular)
    _tools(page).get_by_role("button", name="Open all").click()
    pane = _pane(page, "candidate")
    pane.scroll_into_view_if_needed()
    for _ in range(4):
        _tools(page).get_by_role("button", name="Zoom in").click()
    _settle(page)
    box, before = pane.bounding_box(), pane.get_attribute("data-chosen-at")
    page.mouse.move(box["x"] + 20, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 50, box["y"] + 240)
    page.mouse.up()
    _settle(page)
    x, y = map(int, before.split(","))
    assert pane.get_attribute("data-chosen-at") == f"{x + 30},{y + 40}"
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 5)
    _settle(page)
    top = int(pane.get_attribute("data-chosen-at").split(",")[1])
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + box["height"] - 8)
    _settle(page)
    assert int(pane.get_attribute("data-chosen-at").split(",")[1]) < top - 100


def test_search_lists_what_it_finds_and_steps_through_it(opened, modular):
    page = opened(modular)
    page.fill("#graphs input[type=search]", "CONV")
    options = page.locator("#found-nodes [role=option]")
    assert options.count() == 8
    assert page.inner_text("#graphs .found") == "8 found"
    seen = []
    for key in ("Enter", "Enter", "Shift+Enter"):
        _press(page, key)
        seen.append(" ".join(page.inner_text("#graphs .readout").split()))
    assert "b_conv0" in seen[0]
    assert "b_conv1" in seen[1]
    assert seen[2] == seen[0]
    assert page.inner_text("#graphs .found") == "1 of 8 found"
    options.last.click()
    assert "a_conv3" in page.inner_text("#graphs .readout")
    assert not options.first.is_visible()
    page.get_by_role("button", name="Next found node").click()
    assert "b_conv0" in page.inner_text("#graphs .readout"), "after the last comes the first"
    page.fill("#graphs input[type=search]", "layer3")
    assert page.inner_text("#graphs .found") == "4 found", "modules are searched"
    _press(page, "Escape")
    assert not options.first.is_visible()
    page.fill("#graphs input[type=search]", "nowhere")
    assert page.inner_text("#graphs .found") == "nothing found"


def test_names_tell_the_modules_where_the_file_has_none(opened, divergent):
    document = copy.deepcopy(divergent)
    for graph in document["profile"]["graphs"]:
        graph["modules"] = [""] * len(graph["nodes"])
        graph["nodes"] = [f"/net/stage{place // 5}/n{place}" for place in range(9)]
    document["findings"][0]["node"] = "/net/stage1/n5"
    page = opened(document)
    _tools(page).get_by_role("button", name="Open all").click()
    _settle(page)
    assert _parts(page) == 9 + 2
    _pane(page, "candidate").focus()
    _press(page, "Home")
    assert "module stage0" in _note(page, "candidate")


PAN = """async () => {
  const [canvas] = document.querySelectorAll('.whole')[1].children;
  const { left, top } = canvas.getBoundingClientRect();
  canvas.setPointerCapture = () => {};
  const send = (type, y) => {
    const place = { clientX: left + 60, clientY: top + y, buttons: 1 };
    canvas.dispatchEvent(new PointerEvent(type, place));
  };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  send('pointerdown', 0);
  for (let step = 1; step <= 30; step += 1) {
    send('pointermove', 9 * step);
    await frame();
  }
  send('pointerup', 270);
  return performance.getEntriesByName('whole graph drawn').map((one) => one.duration);
}"""


def test_the_verdict_is_painted_before_large_graphs_are_laid_out(opened, divergent):
    from large_report import enlarged

    page = opened(enlarged(divergent, 10_000))
    painted, drawn = page.evaluate(
        "[performance.getEntriesByName('first-contentful-paint')[0].startTime,"
        " performance.getEntriesByName('whole graph drawn')[0].startTime]"
    )
    assert painted < drawn


def test_ten_thousand_nodes_are_moved_frame_by_frame(opened, divergent):
    """A frame draws what is in the window. The limits are wide: other programs may be running."""
    from large_report import enlarged

    page = opened(enlarged(divergent, 10_000))
    assert _parts(page) <= 300, "what is closed is not laid out"
    _tools(page).get_by_role("button", name="Open all").click()
    _settle(page)
    assert _parts(page) >= 10_000
    assert int(_pane(page, "candidate").get_attribute("data-drawn")) < 2_000
    page.evaluate("performance.clearMeasures()")
    drawn = sorted(page.evaluate(PAN))
    assert len(drawn) >= 20
    assert drawn[len(drawn) // 2] < 50, "milliseconds"
    page.fill("#graphs input[type=search]", "node_9001")
    _press(page, "Enter")
    assert max(_chosen_at(page, "candidate")) < 0.2

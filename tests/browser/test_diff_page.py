"""The page of a diff as people see it: in a browser, from a file, with the network off."""

import json

import pytest
from onnx import TensorProto, helper, numpy_helper, save

import isomorph
from described_graphs import weight
from isomorph.reporters.json import as_json
from isomorph.web import diff_page
from network_for_pages import HOSTILE


def _chain(path, layers, *, slope=0.1, without=None, name="layer"):
    """A chain of MatMul and LeakyRelu; one slope, and one node that is left out."""
    nodes, stored, last = [], [], "x"
    for at in range(layers):
        stored.append(numpy_helper.from_array(weight(at), f"w{at}"))
        alpha = slope if at == layers // 2 else 0.1
        for node in (
            helper.make_node("MatMul", [last, f"w{at}"], [f"m{at}"], name=f"{name}{at}/product"),
            helper.make_node("LeakyRelu", [f"m{at}"], [f"r{at}"], name=f"{name}{at}/bend",
                             alpha=alpha),
        ):  # fmt: skip
            if node.name != without:
                node.input[0] = last
                nodes.append(node)
                last = node.output[0]
    specs = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [1, 8]) for each in ("x", last)]
    graph = helper.make_graph(nodes, "g", specs[:1], specs[1:], stored)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The diff of two chains of 400 nodes: one slope differs, one node is missing."""
    folder = tmp_path_factory.mktemp("chains")
    one = _chain(folder / "one.onnx", 200)
    other = _chain(folder / "two.onnx", 200, slope=0.3, without=f"{HOSTILE}150/bend", name=HOSTILE)
    return as_json(isomorph.diff(one, other, in_process=True))


@pytest.fixture
def shown(tab, tmp_path):
    def show(text):
        path = tmp_path / "diff.html"
        path.write_text(diff_page(text), encoding="utf-8")
        tab.page.goto(path.as_uri())
        tab.page.wait_for_selector("#verdict")
        return tab.page

    return show


def test_what_changed_stands_first_and_is_selected(shown, tab, compared):
    page = shown(compared)
    assert page.inner_text("#verdict .verdict") == "Structure differs"
    assert "alpha: 0.1 → 0.3" in page.inner_text("#changes")
    assert page.locator(".pair-row.selected.changed").count() == 1
    assert "attribute" in page.inner_text("#detail")
    assert HOSTILE[:9] in page.inner_text("#detail")
    assert page.locator("#detail img, #detail b").count() == 0
    assert [url for url in tab.asked if not url.startswith("file:")] == []


def test_equal_nodes_are_folded_and_open_on_demand(shown, compared):
    page = shown(compared)
    folds = page.locator(".fold")
    assert folds.count() == 3
    assert folds.first.inner_text().startswith("200 matched rows")
    assert page.locator(".pair-row.removed .cell.candidate.none").count() == 1
    assert page.locator(".pair-row[data-row='204']").count() == 0
    folds.nth(1).click()
    assert page.locator(".pair-row[data-row='204']").count() == 1
    page.locator("label[for=all-rows]").click()
    assert page.locator(".fold").count() == 0


def test_only_rows_in_sight_are_drawn(shown, compared):
    page = shown(compared)
    page.locator("label[for=all-rows]").click()
    assert page.locator(".pair-row").count() < 80
    assert page.evaluate("document.querySelector('.sheet').clientHeight") > 400 * 30
    page.evaluate("document.querySelector('.graphs-scroller').scrollTop = 1e6")
    page.wait_for_selector(".pair-row[data-row='399']")


def test_corresponding_nodes_stand_on_one_row(shown, compared):
    page = shown(compared)
    row = page.locator(".pair-row.matched").first
    boxes = [
        row.locator(f".cell.{side} .node").bounding_box() for side in ("reference", "candidate")
    ]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]


def test_a_search_goes_from_hit_to_hit(shown, compared):
    page = shown(compared)
    page.fill("#graphs input[type=search]", "layer7")
    # layer7 and layer70 to layer79, with a product and a bend each.
    assert page.inner_text(".hits") == "1 of 22"
    page.keyboard.press("Enter")
    assert page.inner_text(".hits") == "2 of 22"
    assert "layer7/bend" in page.inner_text("#detail")
    page.fill("#graphs input[type=search]", "no such node")
    assert page.inner_text(".hits") == "0 found"


def test_changes_are_walked_by_buttons_and_rows_by_keys(shown, compared):
    page = shown(compared)
    page.get_by_role("button", name="Next change").click()
    assert page.locator(".pair-row.selected.removed").count() == 1
    page.locator("#changes button.link").first.click()
    assert page.locator(".pair-row.selected.changed").count() == 1
    page.keyboard.press("ArrowUp")
    assert page.locator(".pair-row.selected.matched").count() == 1


def test_a_relation_is_hidden_by_its_switch(shown, compared):
    page = shown(compared)
    page.locator("button.filter.removed").click()
    assert page.locator(".pair-row.removed").count() == 0
    assert page.locator("button.filter.removed").get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_window(shown, compared, width):
    page = shown(compared)
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_same_structure_shows_all_rows(shown, compared):
    document = json.loads(compared)
    rows = [row for row in document["rows"] if row["relation"] == "matched"]
    page = shown(
        json.dumps({**document, "rows": rows, "same": True, "counts": {"matched": len(rows)}})
    )
    assert page.inner_text("#verdict .verdict") == "Same structure"
    assert page.locator(".fold").count() == 0


def test_two_reports(shown, divergent, tmp_path):
    before, after = dict(divergent), dict(divergent)
    after = {**after, "findings": [], "verdict": "unknown"}
    paths = []
    for name, document in (("a.json", before), ("b.json", after)):
        paths.append(tmp_path / name)
        paths[-1].write_text(json.dumps(document), encoding="utf-8")
    page = shown(as_json(isomorph.diff(*paths)))
    assert page.inner_text("#verdict .verdict") == "Divergent → unknown"
    assert page.locator("#findings .chip", has_text="gone").count() == len(before["findings"])
    assert "translation" in page.inner_text("#outputs")

"""What the page answers without scrolling: the verdict, the cause and the fix."""

import copy
import json
import re

import pytest

from isomorph.core.dataset_summary import OutputOverSamples, OverSamples
from isomorph.reporters.json import as_json


def _bottom(page, locator):
    box = page.locator(locator).first.bounding_box()
    return box["y"] + box["height"]


def _in_window(page, width, height=900):
    page.set_viewport_size({"width": width, "height": height})


@pytest.fixture(autouse=True)
def usual_window(tab):
    """The window of the module's browser has its usual size again after each test."""
    yield
    _in_window(tab.page, 1280)


def test_the_first_screen_has_the_verdict_the_cause_and_the_fix(opened, divergent):
    page = opened(divergent)
    _in_window(page, 1400)
    for part in ("h1 .verdict", ".card .chip.cause", ".card .diff ins", ".card .command"):
        assert _bottom(page, part) < 900, part


def test_the_tab_names_the_verdict_and_both_models(opened, divergent):
    page = opened(divergent)
    assert page.title() == "Divergent: right.onnx → wrong.onnx · isomorph"


def test_the_table_of_the_alignment_is_closed_until_it_is_asked_for(opened, divergent):
    page = opened(divergent)
    rows = page.locator("#alignment .all-pairs tbody tr")
    assert not rows.first.is_visible()
    page.locator("#alignment .all-pairs summary").click()
    assert rows.first.is_visible()


def _unknown(document, ratio, compared):
    """The same report without a verdict, with an error of this ratio at its output."""
    changed = copy.deepcopy(document)
    changed.update(verdict="unknown", findings=[], reason="an input could not be compared")
    (output,) = changed["outputs"]
    output["verdict"] = "unknown"
    for part in ("rounding", "execution_reference", "execution_candidate"):
        output[part]["budget"]["ratio"] = ratio
        output[part]["distance"]["compared"] = compared
    return changed


@pytest.mark.parametrize(
    ("compared", "words"), [(4, "equal where compared"), (0, "nothing compared")]
)
def test_without_a_verdict_zero_is_not_shown_as_a_result(opened, divergent, compared, words):
    page = opened(_unknown(divergent, 0.0, compared))
    assert not re.search(r"(?<![\d.])0×(?!10)", page.inner_text("main"))
    assert page.locator(".number .ratio").all_inner_texts() == [words] * 3


def test_without_a_verdict_a_measured_error_is_shown(opened, divergent):
    page = opened(_unknown(divergent, 0.25, 4))
    assert page.locator(".number .ratio").all_inner_texts() == ["0.25×"] * 3


def test_where_nothing_was_measured_there_are_no_numbers(opened, divergent):
    changed = _unknown(divergent, 0.0, 0)
    for part in ("observed", "translation", "rounding", "intended_loss"):
        changed["outputs"][0][part] = None
    for part in ("execution_reference", "execution_candidate"):
        changed["outputs"][0][part] = None
    assert opened(changed).locator(".number").count() == 0


QUANTIZED = {
    "tensor": "pooled", "dtype": "int8", "kind": "activation", "channels": 1,
    "scale": [0.1, 0.1], "zero_point": [0, 0], "node": "b_pool", "representable": [-1, 1],
    "seen": [-1, 1], "clipped": 0.25, "used": 1.0, "sqnr_db": 21.04, "ideal_sqnr_db": 40.0,
    "local_quanta": 0.0, "gain": None, "changed": [], "misread": [],
}  # fmt: skip


def test_a_loss_is_stated_in_agreement_and_decibels(opened, divergent):
    degraded = copy.deepcopy(divergent)
    degraded.update(verdict="degraded", findings=[], quantization=[QUANTIZED])
    degraded["outputs"][0]["observed"]["distance"]["sqnr_db"] = 33.3
    over = OutputOverSamples(
        reference_output="y", candidate_output="y", samples=40, worst="7", worst_absolute=0.1,
        worst_relative=0.1, label_agreement=0.875,
    )  # fmt: skip
    samples = OverSamples(location="samples", samples=40, outputs=(over,))
    degraded["test_set"] = json.loads(as_json(samples))
    page = opened(degraded)
    text = page.inner_text("#verdict .loss")
    for part in (
        "87.50%",
        "top-1 agreement on 40 samples",
        "33.3 dB",
        "21.0 dB",
        "pooled",
        "ideal 40.0 dB",
    ):
        assert part in text
    assert opened(divergent).locator("#verdict .loss").count() == 0


def test_on_a_phone_the_evidence_stands_below_itself(opened, divergent):
    page = opened(divergent)
    cells = page.locator(".evidence tbody tr").first.locator("td")
    boxes = [cells.nth(place).bounding_box() for place in range(cells.count())]
    assert len({box["y"] for box in boxes}) == 1
    _in_window(page, 390)
    boxes = [cells.nth(place).bounding_box() for place in range(cells.count())]
    assert len({box["x"] for box in boxes}) == 1
    assert sorted(box["y"] for box in boxes) == [box["y"] for box in boxes]
    assert all(box["x"] + box["width"] <= 390 for box in boxes)
    label = "getComputedStyle(document.querySelector('.evidence td'), '::before').content"
    assert page.evaluate(label) != "none"


def test_every_table_fits_a_usual_screen(opened, divergent):
    wide = {**QUANTIZED, "tensor": "encoder/layer/attention/output/dense/MatMul_quantized",
            "scale": [1.234e-5, 9.876e-3], "zero_point": [-128, 127], "channels": 64,
            "representable": [-1.234e-4, 5.678e-4], "seen": [-1.111e-4, 5.555e-4],
            "gain": 0.5, "changed": ["scale"], "misread": ["zero_point"]}  # fmt: skip
    page = opened({**divergent, "quantization": [wide] * 3})
    _in_window(page, 1400)
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    hidden = page.evaluate(
        """[...document.querySelectorAll('.scroll')]
          .filter(one => one.scrollWidth > one.clientWidth + 1)
          .map(one => one.innerText.slice(0, 80))"""
    )
    assert hidden == []


def test_a_difference_stands_in_the_headline_with_the_inputs_that_show_it(opened, divergent):
    headline = opened(divergent).inner_text("h1 .reason")
    assert headline.startswith("the two graphs compute different functions; output 'y' differs by ")
    assert headline.endswith("on 2 of 2 inputs")


def test_an_unknown_verdict_shows_one_cause_and_folds_what_follows(opened, divergent):
    (finding,) = divergent["findings"]
    crash = {**finding, "code": "RUNTIME_FAILED", "cause": None, "evidence": {}, "experiments": [],
             "fix": "state the size with --dim samples=SIZE"}  # fmt: skip
    several = [{**crash, "rank": rank, "code": f"CODE_{rank}"} for rank in (1, 2, 3)]
    unknown = {**_unknown(divergent, 0.0, 0), "findings": several, "profile": None}
    for part in ("observed", "translation", "rounding", "intended_loss"):
        unknown["outputs"][0][part] = None
    for part in ("execution_reference", "execution_candidate"):
        unknown["outputs"][0][part] = None
    page = opened({**unknown, "draws": 0})
    cards = page.locator(".card")
    assert [cards.nth(place).is_visible() for place in range(3)] == [True, False, False]
    assert "reaches output" not in cards.first.inner_text()
    assert page.locator("#profile").count() == 0, "nothing was measured"
    page.locator("#findings > details > summary").click()
    assert cards.nth(2).is_visible()


def test_issues_about_one_thing_say_once_what_happens(opened, divergent):
    known = [f"a/b#{number}: the same happens (https://github.com/a/b/issues/{number})"
             for number in (1, 2)]  # fmt: skip
    known.append("c/d#3: another thing (https://github.com/c/d/issues/3)")
    (finding,) = divergent["findings"]
    evidence = {**finding["evidence"], "known_issues": known}
    page = opened({**divergent, "findings": [{**finding, "evidence": evidence}]})
    shown = page.locator(".card .issue").all_inner_texts()
    assert shown == ["a/b#1, a/b#2: the same happens", "c/d#3: another thing"]


def test_columns_and_cells_without_a_value_take_no_room(opened, divergent):
    unmeasured = {**QUANTIZED, "sqnr_db": None}
    page = opened({**divergent, "quantization": [unmeasured]})
    assert "parameters" not in page.inner_text("#quantization thead")
    dash = page.locator("#quantization td[data-label=SQNR]")
    assert dash.is_visible()
    _in_window(page, 390)
    assert not dash.is_visible()

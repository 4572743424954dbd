"""The page as people see it: in a browser, from a file, with the network off."""

import copy
import json
import re
from dataclasses import replace

import pytest

from isomorph.core.baseline import Baseline, BaselineStatus
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import Verdict
from isomorph.core.proof import (
    Assumptions,
    NodeProof,
    OpenReason,
    OutputProof,
    Proof,
    Reason,
    Standing,
)
from isomorph.core.report import Report
from isomorph.reporters.json import as_json
from network_for_pages import HOSTILE


def _pixels(page, selector):
    """How many different colors a canvas shows: one means that nothing is drawn."""
    return page.evaluate(
        """selector => {
          const seen = new Set();
          for (const canvas of document.querySelectorAll(selector)) {
            if (!canvas.width || !canvas.height) continue;
            const { width, height } = canvas;
            const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 4).join());
          }
          return seen.size;
        }""",
        selector,
    )


def test_everything_is_drawn_from_a_file_without_the_network(opened, tab, divergent):
    page = opened(divergent)
    assert page.inner_text("#verdict .verdict") == "Divergent"
    assert page.locator(".number").count() == 3
    assert _pixels(page, ".plot canvas") > 5
    assert _pixels(page, ".canvas canvas") > 5
    assert int(page.get_attribute(".canvas", "data-nodes")) >= 9
    assert page.locator(".panels figure").count() >= 2
    paired = {pair["candidate"] for pair in divergent["alignment"]["pairs"]}
    assert page.locator("#alignment tbody tr").count() >= len(paired) >= 9
    assert [url for url in tab.asked if not url.startswith("file:")] == []


def test_the_order_of_the_page(opened, divergent):
    page = opened(divergent)
    ids = page.evaluate("[...document.querySelectorAll('#page > [id]')].map(one => one.id)")
    assert ids == [
        "verdict", "findings", "outputs", "profile", "graphs", "tensors", "alignment",
        "foundations",
    ]  # fmt: skip
    page = opened({**divergent, "verdict": "equivalent", "findings": []})
    ids = page.evaluate("[...document.querySelectorAll('#page > [id]')].map(one => one.id)")
    assert ids[:3] == ["verdict", "outputs", "findings"]


def test_choosing_a_finding_chooses_its_node_everywhere(opened, divergent):
    page = opened(divergent)
    page.fill("#graphs input[type=search]", "b_conv0")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "document.querySelector('#graphs .readout').innerText.includes('b_conv0')"
    )
    assert "b_conv0" in page.inner_text("#profile .readout")
    card = page.locator(".card", has_text="b_relu2").first
    assert "selected" not in card.get_attribute("class")
    card.locator("button.locate").click()
    page.wait_for_function(
        "document.querySelector('#graphs .readout').innerText.includes('b_relu2')"
    )
    assert "b_relu2" in page.inner_text("#profile .readout")
    assert "corresponds to" in page.inner_text("#graphs .readout")
    assert "a_relu2" in page.inner_text("#graphs .readout")
    assert "selected" in card.get_attribute("class")
    assert "b_r2" in page.inner_text("#tensors .close-up")


def test_the_profile_is_walked_by_keyboard(opened, divergent):
    page = opened(divergent)
    page.focus(".plot")
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    assert "b_conv0" in page.inner_text("#profile .readout")
    page.keyboard.press("ArrowRight")
    assert "b_relu0" in page.inner_text("#profile .readout")


def test_the_whole_page_is_reached_by_tab(opened, divergent):
    page = opened(divergent)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.closest('[id]')?.id"))
    assert {"findings", "profile", "graphs", "tensors", "alignment"} <= reached


def test_the_evidence_and_the_fix_stand_on_the_card(opened, divergent):
    first, *rest = divergent["findings"]
    evidence = {**first["evidence"], "also": ["layout: <b>perhaps</b>"]}
    page = opened({**divergent, "findings": [{**first, "evidence": evidence}, *rest]})
    card = page.locator(".card").first
    text = card.inner_text()
    assert "as predicted" in text
    assert "layout: <b>perhaps</b>" in text
    assert card.locator("del").inner_text() == "− alpha = 0.12"
    assert card.locator("ins").inner_text() == "+ alpha = 0.1"
    assert "isomorph fix" in text


def test_a_node_inside_a_body_is_shown_at_its_parent_with_the_way_there(opened, divergent):
    document = json.loads(json.dumps(divergent).replace('"b_relu2"', '"b_relu2/body#0/deep"'))
    graph = document["profile"]["graphs"][1]
    graph["nodes"] = [name.partition("/")[0] for name in graph["nodes"]]
    page = opened(document)
    card = page.locator(".card").first
    assert "b_relu2 › body#0 › deep" in card.locator(".facts").inner_text()
    card.locator("button.locate").click()
    for place in ("#profile", "#graphs"):
        text = " ".join(page.inner_text(f"{place} .readout").split())
        assert "faulty inside body#0/deep" in text


def test_a_node_inside_a_body_that_was_looked_into_has_a_place_and_a_round(opened, divergent):
    document = json.loads(json.dumps(divergent).replace('"b_relu2"', '"b_loop/body#0/deep"'))
    graph = document["profile"]["graphs"][1]
    graph["rounds"] = [2 if "/body#0/" in name else None for name in graph["nodes"]]
    page = opened(document)
    page.locator(".card button.locate").first.click()
    text = " ".join(page.inner_text("#profile .readout").split())
    assert "b_loop/body#0/deep round 3" in text
    assert "faulty inside" not in text


def test_what_no_patch_can_mend_offers_none(opened, divergent):
    crash = {**divergent["findings"][0], "code": "RUNTIME_CRASHED", "cause": None,
             "fix": "try another --runtime", "evidence": {}}  # fmt: skip
    page = opened({**divergent, "findings": [crash], "repair_commands": [None]})
    text = page.locator(".card").first.inner_text()
    assert "try another --runtime" in text
    assert "isomorph fix" not in text


def test_what_a_tensor_gains_in_float_is_a_column_where_it_was_measured(opened, divergent):
    row = {
        "tensor": "long/" * 40 + "end", "dtype": "int8", "kind": "activation", "channels": 1,
        "scale": [0.1, 0.1], "zero_point": [0, 0], "node": "b_relu2", "representable": [-1, 1],
        "seen": [-1, 1], "clipped": 0.25, "used": 1.0, "sqnr_db": 30.0, "ideal_sqnr_db": 40.0,
        "local_quanta": 0.0, "gain": None, "changed": [], "misread": [],
    }  # fmt: skip
    page = opened({**divergent, "quantization": [row]})
    assert "gain" not in page.inner_text("#quantization thead")
    page = opened({**divergent, "quantization": [row, {**row, "gain": 0.62}]})
    assert "gain" in page.inner_text("#quantization thead")
    assert "62%" in page.inner_text("#quantization tbody")
    first = page.locator("#quantization tbody tr").first
    assert first.bounding_box()["height"] < 60, "a long name is shortened in the middle"
    assert first.locator(".name").get_attribute("title") == row["tensor"]


def test_a_repair_stands_on_the_card_of_its_node(opened, divergent):
    def measured(verdict, ratio):
        output = {"candidate_output": "y", "times_over_budget": ratio, "relative_l2": ratio}
        return {"origin": "given", "verdict": verdict, "reason": "", "outputs": [output]}

    patch = {"node": "b_relu2", "cause": "attribute", "summary": "alpha from 0.12 to 0.1",
             "words": ["b_relu2: attribute alpha = 0.1"]}  # fmt: skip
    repair = {"repaired": True, "reason": "1 patch applied", "output": "fixed.onnx",
              "patches": [patch], "before": [measured("divergent", 1234.5)],
              "after": [measured("equivalent", 0.25)]}  # fmt: skip
    page = opened({**divergent, "repair": repair})
    text = page.locator(".card").first.locator(".patch").inner_text()
    assert "alpha from 0.12 to 0.1" in text
    assert "1235×" in text
    assert "0.25×" in text
    assert "fixed.onnx" in text


def test_hostile_names_are_shown_literally(opened, divergent):
    document = json.loads(json.dumps(divergent).replace("b_relu2", json.dumps(HOSTILE)[1:-1]))
    document["models"][1]["location"] = HOSTILE
    page = opened(document)
    visible = HOSTILE.replace("\u202e", "\\u{202e}")
    assert page.locator(".card h3").first.inner_text() == visible
    assert visible in page.inner_text("#profile .readout")
    assert visible in page.inner_text("#graphs .readout")
    assert page.locator("main img, main b b, main script").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2


def test_the_baseline_stands_below_the_verdict(opened, divergent):
    accepted = {"why": HOSTILE, "who": "A. Nother", "when": "2027-01-31", "until": "2027-06-30"}
    status = {"output": "y", "state": "unchanged", "message": "as accepted", "accepted": accepted}
    page = opened({**divergent, "baseline": {"file": "b.toml", "statuses": [status]}})
    text = page.inner_text("#baseline")
    assert "unchanged" in text
    assert "until 2027-06-30" in text
    assert HOSTILE[:20] in text


def test_the_alignment_is_searched(opened, divergent):
    page = opened(divergent)
    page.locator("#alignment .all-pairs summary").click()
    everything = page.locator("#alignment tbody tr").count()
    page.fill("#alignment input[type=search]", "B_R3")
    assert page.locator("#alignment tbody tr").count() < everything
    page.locator("#alignment tbody button", has_text="b_r3").click()
    assert "b_relu3" in page.inner_text("#graphs .readout")


def test_a_report_without_an_alignment_shows_what_the_profile_knows(opened, divergent):
    page = opened({**divergent, "alignment": None})
    assert page.locator("#alignment tbody tr").count() == 9
    page.locator("#alignment .all-pairs summary").click()
    page.locator("#alignment tbody button", has_text="b_relu3").click()
    assert "b_relu3" in page.inner_text("#graphs .readout")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(opened, divergent, scheme):
    page = opened(divergent)
    page.emulate_media(color_scheme=scheme)
    page.reload()
    page.wait_for_selector(".plot[data-drawn]")
    worst = page.evaluate(
        """() => {
          const light = (color) => {
            const parts = color.match(/[\\d.]+/g).slice(0, 3).map((one) => {
              const share = Number(one) / 255;
              return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
          };
          const paper = light(getComputedStyle(document.body).backgroundColor);
          const against = (one) => (Math.max(paper, one) + 0.05) / (Math.min(paper, one) + 0.05);
          const words = [...document.querySelectorAll("p, dd, td, th, .verdict, h2, figcaption")];
          return Math.min(...words.map((one) => against(light(getComputedStyle(one).color))));
        }"""
    )
    assert worst >= 4.5


def test_a_narrow_screen_scrolls_in_one_direction(opened, divergent):
    page = opened(divergent)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(100)
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert wide <= 390


def test_print_shows_the_findings_without_the_tools(opened, divergent):
    page = opened(divergent)
    page.emulate_media(media="print")
    assert page.locator(".card").first.is_visible()
    assert not page.locator("nav").is_visible()
    assert not page.locator(".tools").first.is_visible()
    assert not page.locator("#foundations details[open] >> text=onnxruntime").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#foundations details:not([open])").count() == 0
    page.emulate_media(media="screen")


def _without_profile(document):
    document["profile"] = None


def _nothing_found(document):
    document.update(findings=[], outputs=[], profile=None, verdict="unknown", models=[])


def _not_finite(document):
    profile = document["profile"]["graphs"][1]
    profile["translation"] = ["inf"] * len(profile["translation"])
    profile["execution"] = ["nan"] * len(profile["execution"])
    profile["local"] = [0.0] * len(profile["local"])
    document["findings"][0]["local_error"] = "inf"


@pytest.mark.parametrize("change", [_without_profile, _nothing_found, _not_finite])
def test_a_report_that_lacks_something_is_shown_all_the_same(opened, divergent, change):
    document = copy.deepcopy(divergent)
    change(document)
    page = opened(document)
    assert page.locator("#findings").is_visible()
    assert page.locator("#foundations").is_visible()


def test_ten_thousand_nodes_are_usable(opened, divergent, tmp_path):
    """What the page builds does not grow with the model, so a large one is no slower to use."""
    from large_report import enlarged

    built = []
    for count in (1_000, 10_000):
        page = opened(enlarged(divergent, count))
        built.append(page.evaluate("document.querySelectorAll('*').length"))
        built.append(int(page.get_attribute(".canvas", "data-nodes")))
    assert built[2] < 1.2 * built[0]
    assert built[3] < 1.2 * built[1]
    page.locator("#alignment .all-pairs summary").click()
    page.fill("#alignment input[type=search]", "stage7_node_9001")
    page.locator("#alignment tbody button").first.press("Enter")
    page.wait_for_function(
        "document.querySelector('#graphs .readout').innerText.includes('stage7_node_9001')"
    )
    assert (tmp_path / "page.html").stat().st_size < 2_500_000, "25 MB are allowed"
    assert int(page.get_attribute(".canvas", "data-nodes")) <= 300


def test_at_most_three_hundred_nodes_are_drawn(opened, divergent):
    from large_report import enlarged

    page = opened(enlarged(divergent, 2_000))
    page.locator("#slice-size").fill("150")
    page.wait_for_function("document.querySelector('.canvas').dataset.nodes > 200")
    assert int(page.get_attribute(".canvas", "data-nodes")) <= 300


def _report(verdict, covered, **more):
    outputs = (OutputCoverage(output="y", within=1),)
    coverage = Coverage(**{"values": 4, "outputs": outputs, **covered})
    return Report(
        verdict=verdict, reason="as stated", command="check", seed=0, draws=3, false_alarm=1e-6,
        coverage=coverage, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "covered", "only_given"),
    [
        ("equivalent", {"given": 1}, False),
        ("equivalent", {"given": 1, "generated": 2}, False),
        ("degraded", {"generated": 2}, False),
        ("equivalent", {"from_set": 7, "in_set": 7, "set_name": "samples", "given": 1}, False),
        ("equivalent", {"given": 2}, True),
        ("divergent", {"given": 1}, True),
        ("divergent", {"given": 1}, False),
    ],
)
def test_the_headline_of_the_page_equals_the_reports(opened, verdict, covered, only_given):
    report = _report(Verdict(verdict), covered, only_given=only_given)
    page = opened(json.loads(as_json(report)))
    shown = page.locator("h1 .covers")
    text = shown.inner_text() if shown.count() else ""
    assert f"{verdict.upper()} {text}".strip() == report.headline


def test_what_was_not_compared_is_listed_and_nothing_is_accepted(opened):
    missing = OutputCoverage(output="lost", within=1, not_compared=2, reasons=("nobody ran it",))
    status = BaselineStatus(output="y", state="unchanged", message="accepted by Ada")
    accepted = Baseline(file="known.toml", statuses=(status,))
    open_question = _report(Verdict.DIVERGENT, {"outputs": (missing,)}, baseline=accepted)
    page = opened(json.loads(as_json(open_question)))
    assert page.locator("#uncompared tbody tr").all_inner_texts() == ["lost\t2 of 3\tnobody ran it"]
    assert page.locator("h1 .chip").count() == 0
    compared = _report(Verdict.DIVERGENT, {}, baseline=accepted)
    page = opened(json.loads(as_json(compared)))
    assert page.locator("#uncompared").count() == 0
    assert page.inner_text("h1 .chip") == "accepted"


def test_an_accepted_constant_is_named_as_one(opened):
    status = BaselineStatus(output="", constant="w", state="unchanged", message="accepted by Ada")
    accepted = Baseline(file="known.toml", statuses=(status,))
    page = opened(json.loads(as_json(_report(Verdict.DIVERGENT, {}, baseline=accepted))))
    assert "constant w" in page.inner_text("#baseline tbody tr")


def _proof(document, **changes):
    """A proof of all nodes of the report but the first of the reference and the last."""
    graphs = {each["role"]: each for each in document["profile"]["graphs"]}
    nodes = [
        NodeProof(side=role, node=node, op=op, standing=Standing.PROVEN)
        for role in ("reference", "candidate")
        for node, op in zip(graphs[role]["nodes"], graphs[role]["ops"], strict=True)
    ]
    reason = OpenReason(reason=Reason.NO_MEANING, node=nodes[-1].node, op="TopK", details="a tie")
    nodes[-1] = replace(nodes[-1], standing=Standing.OPEN, open=reason)
    nodes[0] = replace(nodes[0], standing=Standing.TESTED)
    outputs = [
        OutputProof(reference="y", candidate="y", standing=Standing.PROVEN),
        OutputProof(reference="z", candidate="z", standing=Standing.TESTED, open=reason),
    ]
    proof = Proof(
        reference="a.pt2", candidate="a.onnx", outputs=tuple(outputs), nodes=tuple(nodes),
        chance=1e-15, seed=5, assumptions=Assumptions(shapes={"x": (2, 3)}, largest_rounding=1e-7),
    )  # fmt: skip
    return replace(proof, **changes)


def test_the_share_of_proven_nodes_stands_at_the_top(opened, divergent):
    page = opened({**divergent, "proof": json.loads(as_json(_proof(divergent)))})
    count = len(divergent["profile"]["graphs"][0]["nodes"])
    assert f"{count - 1} of {count}" in page.inner_text("#verdict #proven-share")
    assert "x [2, 3]" in page.inner_text("#proven-share")
    widths = [
        float(page.locator(f".share-bar .{each}").evaluate("one => parseFloat(one.style.width)"))
        for each in ("proven", "tested")
    ]
    assert widths == pytest.approx([100 * (count - 1) / count, 100 / count], abs=0.01)


def test_proven_nodes_have_a_color_and_a_mark_of_their_own(opened, divergent):
    page = opened({**divergent, "proof": json.loads(as_json(_proof(divergent)))})
    colors = [
        page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{each}')")
        for each in ("proven", "tested", "edge", "accent", "candidate")
    ]
    assert len(set(colors)) == len(colors)
    assert "✓ proven" in page.inner_text("#graphs .legend.proof")
    page.locator("#findings .locate").first.click()
    assert re.search(r"proof\s+proven", page.inner_text("#graphs .readout"))


def test_the_proof_names_outputs_reasons_and_assumptions(opened, divergent):
    page = opened({**divergent, "proof": json.loads(as_json(_proof(divergent)))})
    text = page.inner_text("#proof")
    assert "✓ proven" in text
    assert "operator TopK at " in text
    assert "is not defined for proofs: a tie" in text
    assert "constants equal up to 1.00×10⁻⁷" in text
    assert "at most 1.00×10⁻¹⁵" in text
    page.locator("#proof summary", has_text="not proven").click()
    assert page.locator("#proof details tbody tr").count() == 2


def test_a_contradiction_is_seen_at_once(opened, divergent):
    found = _proof(divergent, contradicted=("y",))
    page = opened({**divergent, "proof": json.loads(as_json(found))})
    assert "against its proof" in page.inner_text("h1")
    assert "a defect of isomorph" in page.inner_text("#proof [role=alert]")


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_headline_with_a_proof_equals_the_reports(opened, divergent, outputs):
    found = _proof(divergent)
    found = replace(found, outputs=found.outputs[:outputs])
    report = _report(Verdict.EQUIVALENT, {"given": 1}, proof=found)
    page = opened(json.loads(as_json(report)))
    assert f"EQUIVALENT {page.inner_text('h1 .covers')}" == report.headline


def test_a_proof_alone_has_a_page(opened, divergent):
    found = _proof(divergent)
    page = opened(json.loads(as_json(found)))
    assert "Open" in page.inner_text("h1")
    assert page.locator("#proof tbody tr").count() >= 2
    page = opened(json.loads(as_json(replace(found, outputs=found.outputs[:1]))))
    assert "for every input of these shapes" in page.inner_text("h1")
    page.set_viewport_size({"width": 390, "height": 800})
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert wide <= 390

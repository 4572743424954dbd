"""`isomorph view` in a browser: a list, a report whose tensors come later, a comparison."""

import copy
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest


@pytest.fixture
def viewed(divergent, tmp_path):
    """A folder of three reports behind `isomorph view`; its address."""
    repaired = copy.deepcopy(divergent)
    repaired.update(verdict="equivalent", findings=[], reason="the same function")
    for output in repaired["coverage"]["outputs"]:
        output.update(within=output["within"] + output["beyond"], beyond=0)
    crashed = {**repaired, "verdict": "unknown", "reason": "a runtime crashed"}
    for age, (name, one) in enumerate(
        [("last", crashed), ("after", repaired), ("before", divergent)]
    ):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(one))
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    process = subprocess.Popen(
        [sys.executable, "-m", "isomorph", "view", str(tmp_path), "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    process.stdout.close()
    assert process.wait(timeout=120) == 0


def _reach(tab, address):
    tab.page.context.set_offline(False)
    tab.page.goto(address)
    return tab.page


def test_a_folder_is_listed_opened_and_compared(tab, viewed):
    page = _reach(tab, viewed)
    page.wait_for_selector("tbody tr")
    assert page.inner_text("h1") == "3 reports"
    assert "token" not in page.url
    page.get_by_role("button", name="before.json").click()
    page.wait_for_selector(".canvas[data-nodes]")
    page.wait_for_selector("#tensors .panels figure")
    assert page.inner_text("#verdict .verdict") == "Divergent"
    assert any("/tensors/" in url for url in tab.asked)
    page.get_by_role("button", name="All reports").click()
    page.wait_for_selector("tbody tr")
    page.get_by_role("checkbox", name="Compare after.json").check()
    page.get_by_role("checkbox", name="Compare before.json").check()  # the older comes first
    page.get_by_role("button", name="Compare two").click()
    page.wait_for_selector("#outputs")
    assert page.inner_text("h1") == "divergent → equivalent"
    assert "fixed" in page.inner_text("#findings")
    assert "b_relu2" in page.inner_text("#findings")
    page.reload()
    page.wait_for_selector("#outputs")
    page.go_back()
    page.wait_for_selector("input[type=checkbox]")
    start = viewed.partition("#")[0]
    assert all(url.startswith(start) for url in tab.asked)


def test_the_list_is_filtered_and_stays_so(tab, viewed):
    page = _reach(tab, viewed)
    page.wait_for_selector("tbody tr")
    rows = page.locator("tbody tr")
    page.get_by_label("any verdict").select_option("divergent")
    assert rows.all_inner_texts()[0].strip().startswith("before.json")
    assert rows.count() == 1
    page.get_by_role("button", name="before.json").click()
    page.wait_for_selector(".canvas[data-nodes]")
    page.go_back()
    page.wait_for_selector("tbody tr")
    assert (rows.count(), page.inner_text("[role=status]")) == (1, "1 of 3 reports")
    page.get_by_label("any verdict").select_option("")
    page.get_by_label("any cause").select_option("attribute")
    assert rows.count() == 1
    page.get_by_label("any cause").select_option("")
    page.get_by_label("any model").select_option("wrong.onnx")
    assert rows.count() == 3
    page.get_by_label("Search the reports").fill("RUNTIME crashed")
    assert rows.count() == 1
    assert "last.json" in rows.first.inner_text()
    page.get_by_label("Search the reports").fill("no such thing")
    assert rows.count() == 0


def test_the_error_of_a_pair_is_shown_over_time(tab, viewed):
    page = _reach(tab, viewed)
    page.wait_for_selector("#trends .trend-point")
    assert "right.onnx → wrong.onnx" in page.inner_text("#trends figcaption")
    points = page.locator(".trend-point")
    names = [points.nth(place).get_attribute("aria-label") for place in range(points.count())]
    assert [name.split(":")[0] for name in names] == ["before.json", "after.json", "last.json"]
    shapes = {points.nth(place).get_attribute("d") for place in range(3)}
    assert len(shapes) == 3, "verdicts are told apart by shape, not by color alone"
    points.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".canvas[data-nodes]")
    assert page.inner_text("#verdict .verdict") == "Divergent"


def test_two_profiles_are_drawn_over_each_other(tab, viewed):
    page = _reach(tab, viewed)
    page.wait_for_selector("tbody tr")
    page.get_by_role("checkbox", name="Compare after.json").check()
    page.get_by_role("checkbox", name="Compare before.json").check()
    page.get_by_role("button", name="Compare two").click()
    page.wait_for_selector(".plot[data-drawn]")
    assert int(page.get_attribute(".plot", "data-drawn")) == 9
    legend = page.inner_text(".plot .u-legend")
    for line in ("translation before", "translation after", "candidate run before"):
        assert line in legend
    dashed = {
        each.inner_text(): each.locator(".u-marker").evaluate(
            "one => getComputedStyle(one).borderBottomStyle"
        )
        for each in page.locator(".plot .u-legend .u-series").all()
    }
    assert dashed["translation before"] == dashed["candidate run before"] == "dashed"
    assert dashed["translation after"] == dashed["candidate run after"] == "solid"
    box = page.locator(".plot .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)
    assert "→" in page.inner_text("#profile .readout")


def test_what_an_unknown_report_lacks_is_not_called_fixed(tab, viewed):
    page = _reach(tab, viewed)
    page.wait_for_selector("tbody tr")
    page.get_by_role("checkbox", name="Compare before.json").check()
    page.get_by_role("checkbox", name="Compare last.json").check()
    page.get_by_role("button", name="Compare two").click()
    page.wait_for_selector("#outputs")
    text = page.inner_text("#findings")
    assert "not seen" in text
    assert "fixed" not in text


def test_without_the_token_the_page_shows_what_to_do(tab, viewed):
    page = _reach(tab, viewed.partition("#")[0])
    page.wait_for_selector("[role=alert]")
    assert "isomorph view printed" in page.inner_text("[role=alert]")
    # The browser itself reports the refusal, and that is right.
    assert tab.complaints
    assert all("403" in one for one in tab.complaints)
    tab.complaints.clear()


def test_the_server_serves_nothing_without_the_token_either(viewed):
    start = viewed.partition("#")[0]
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{start}reports", timeout=120)
    with caught.value as refused:
        assert refused.code == 403

"""A real browser with the network off, and reports for it to show."""

import json
import shutil
from pathlib import Path

import pytest

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def chromium(tmp_path_factory, divergent):
    """One browser for each module; without one, the message names the package to install.

    While it is open an event loop runs in this thread, which other tests must not meet; and what
    compiles a lot, as the check behind ``divergent`` does, is done before.
    """
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with sync_api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("browser")),
            executable_path=program,
            args=FLAGS,
            viewport={"width": 1280, "height": 900},
            reduced_motion="reduce",
        )
        yield context
        context.close()


class Tab:
    """One open page, and everything it complained about."""

    def __init__(self, page):
        self.page, self.complaints, self.asked = page, [], []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def _on_console(self, message):
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.type}: {message.text}")


@pytest.fixture
def tab(chromium):
    """A fresh tab without a network; at the end nothing may have gone wrong in it."""
    chromium.set_offline(True)
    page = chromium.new_page()
    opened = Tab(page)
    yield opened
    page.close()
    chromium.set_offline(False)
    assert opened.complaints == []


@pytest.fixture
def opened(tab, tmp_path):
    """Opens a report, given as JSON, from a file and waits until it is drawn."""
    from isomorph.web import page as rendered

    def open_report(document):
        path = tmp_path / "page.html"
        path.write_text(rendered(json.dumps(document)), encoding="utf-8")
        tab.page.goto(path.as_uri())
        tab.page.wait_for_selector("#verdict")
        if document.get("profile"):
            tab.page.wait_for_selector(".plot[data-drawn]")
            tab.page.wait_for_selector(".canvas[data-nodes]")
            tab.page.wait_for_selector(".whole[data-parts]")
        return tab.page

    return open_report


@pytest.fixture(scope="session")
def divergent(tmp_path_factory):
    """The JSON of a real check: an ONNX model whose LeakyRelu has another slope."""
    import network_for_pages as pages

    return json.loads(pages.checked(Path(tmp_path_factory.mktemp("models"))))

"""The viewer answers who has the token, on this machine, and gives away no path."""

import asyncio
import json
from dataclasses import replace

import pytest

from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.core.profile import CloseUp, Element, ErrorProfile
from isomorph.core.report import Report
from isomorph.reporters.json import JsonReporter
from isomorph.server.app import application
from isomorph.server.report_store import ReportStore

SEEN = CloseUp(
    kind="output", tensor="y", counterpart="y", dtype="float32", shape=(2,),
    worst=(Element(index=(1,), reference=1.0, candidate=2.0),),
)  # fmt: skip
REPORT = Report(
    verdict=Verdict.DIVERGENT,
    reason="wrong",
    command="check",
    seed=0,
    draws=0,
    false_alarm=0.5,
    profile=ErrorProfile(origin="generated", close_ups=(SEEN,)),
    coverage=Coverage(given=1, values=2, outputs=(OutputCoverage(output="y", within=1),)),
)


@pytest.fixture
def folder(tmp_path):
    kept = tmp_path / "kept"
    (kept / "deeper").mkdir(parents=True)
    (kept / "one.json").write_text(JsonReporter().render(REPORT))
    fine = replace(REPORT, verdict=Verdict.EQUIVALENT, profile=None)
    (kept / "deeper" / "two.json").write_text(JsonReporter().render(fine))
    (kept / "settings.json").write_text('{"a": 1}')
    (tmp_path / "secret.json").write_text(JsonReporter().render(REPORT))
    (kept / "link.json").symlink_to(tmp_path / "secret.json")
    return kept


@pytest.fixture
def ask(folder):
    app = application(ReportStore(folder), "word")

    def asked(path, *, token="word", host="127.0.0.1:8000", method="GET"):
        headers = [(b"host", host.encode())]
        if token is not None:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path,
            "raw_path": path.encode(), "root_path": "", "scheme": "http", "query_string": b"",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        asyncio.run(app(scope, receive, send))
        body = b"".join(one.get("body", b"") for one in sent[1:])
        return sent[0]["status"], dict(sent[0]["headers"]), body

    return asked


def test_the_list_has_every_report_and_nothing_else(ask, folder):
    status, _, body = ask("/reports")
    assert status == 200
    assert {one["name"] for one in json.loads(body)} == {"one.json", "deeper/two.json"}
    assert str(folder).encode() not in body
    (folder / "three.json").write_text(JsonReporter().render(REPORT))
    assert len(json.loads(ask("/reports")[2])) == 3


def test_tensors_come_when_they_are_asked_for(ask):
    listed = json.loads(ask("/reports")[2])
    wanted = next(one["id"] for one in listed if one["name"] == "one.json")
    report = json.loads(ask(f"/reports/{wanted}")[2])
    (stub,) = report["profile"]["close_ups"]
    assert "worst" not in stub
    status, _, body = ask(f"/tensors/{stub['id']}")
    assert status == 200
    assert json.loads(body)["worst"] == [{"index": [1], "reference": 1.0, "candidate": 2.0}]
    assert json.loads(ask(f"/reports/{wanted}")[2])["profile"]["close_ups"][0]["id"] == stub["id"]


@pytest.mark.parametrize("path", ["/reports", "/reports/x", "/tensors/x"])
@pytest.mark.parametrize("token", [None, "", "wor", "words", "wörd"])
def test_without_the_token_nothing_is_returned(ask, path, token):
    status, _, body = ask(path, token=token)
    assert status == 403
    assert b"{" not in body


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "", "[::1"])
def test_another_host_name_is_refused(ask, host):
    assert ask("/", host=host)[0] == 400
    assert ask("/reports", host=host)[0] == 400


@pytest.mark.parametrize(
    "path", ["/reports/../secret.json", "/reports/one.json", "/reports/%2e%2e", "/tensors/0", "/x"]
)
def test_a_path_is_no_word(ask, path):
    ask("/reports")
    assert ask(path)[0] == 404


def test_nothing_can_be_changed(ask):
    for method in ("POST", "PUT", "DELETE"):
        assert ask("/reports", method=method)[0] == 405


def test_the_page_may_ask_only_where_it_came_from(ask):
    status, headers, body = ask("/", token=None)
    assert status == 200
    assert b"connect-src 'self'" in body
    assert b'{"view":true}' in body
    assert headers[b"x-frame-options"] == b"DENY"
    assert b"access-control-allow-origin" not in headers


def test_what_cannot_be_shown_is_refused_at_once(tmp_path):
    with pytest.raises(UsageError):
        ReportStore(tmp_path / "none")
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(UsageError):
        ReportStore(tmp_path / "x.json")


def test_a_report_with_null_in_the_place_of_a_list_is_not_listed(ask, folder):
    document = json.loads((folder / "one.json").read_text())
    document["models"] = None
    (folder / "one.json").write_text(json.dumps(document))
    assert {one["name"] for one in json.loads(ask("/reports")[2])} == {"deeper/two.json"}

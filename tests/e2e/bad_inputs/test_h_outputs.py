"""Group H: what a model says of itself is data in every channel that carries it."""

import http.client
import json
import re
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema

from making import matrix, model, node, save, stored, value
from watching import Command

SCHEMAS = Path(__file__).parents[2] / "support" / "schemas"

MARKUP = "</script><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}} javascript:alert(1)"
TERMINAL = "\x1b]0;owned\x07\x1b[2J\r\x1b]8;;http://evil\x1b\\link [red]bold[/red]"
DIRECTION = "\u202efdp.exe\u202c zero\u200bwidth \u0430dmin"
CONTINUOUS = "a\n::error file=x::owned%0A##[error]owned\n::set-output name=a::b"
XML = ']]></failure>\x00\x01\ufffe & "quoted" \''
CELLS = ["=1+1", "+1", "-1", "@SUM(1)", "\tx", "\rx"]
NAMES = [MARKUP, TERMINAL, DIRECTION, CONTINUOUS, XML, *CELLS]


def _hostile(path, slope):
    """A chain of nodes with these names; the node with the wrong slope has all of them."""
    names = [*NAMES, "|".join(NAMES)]
    nodes, last = [node("MatMul", ["x", "w"], ["t"], "product")], "t"
    for place, name in enumerate(names):
        alpha = slope if place == len(names) - 1 else 0.5
        nodes.append(node("LeakyRelu", [last], [f"t{place} {name}"], name, alpha=alpha))
        last = nodes[-1].output[0]
    outputs = [value(last, [2, 4])]
    return save(path, model(nodes, [value("x", [2, 4])], outputs, [stored("w", matrix())]))


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """A folder with two models of hostile names and their report, found divergent."""
    home = tmp_path_factory.mktemp("hostile")
    _hostile(home / "a.onnx", 0.5)
    _hostile(home / "b.onnx", 0.25)
    words = ("check", "a.onnx", "b.onnx", "--format", "json", "--profile", "-o", "r.json")
    ran = Command(home)(*words, makes=["r.json"])
    assert ran.exit == 1, ran
    report = json.loads((home / "r.json").read_text())
    assert report["findings"][0]["node"] == "|".join(NAMES), "JSON is the lossless format"
    return home


@pytest.fixture
def rendered(checked, isomorph, tmp_path):
    """The report in another format, as the command writes it."""

    def rendered(name, output=None, **options):
        place = ["-o", output] if output else []
        options = {"makes": [output] if output else [], **options}
        ran = isomorph("report", checked / "r.json", "--format", name, *place, **options)
        assert ran.exit == 0, ran
        return ran.out

    return rendered


def test_h01_markup_in_the_page(rendered, tmp_path):
    """That no browser runs it is seen in tests/browser; here, that it never leaves its data."""
    rendered("html", output="page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    before, _, rest = page.partition('<script type="application/json" id="report">')
    data, _, after = rest.partition("</script>")
    assert json.loads(data)["findings"][0]["node"] == "|".join(NAMES)
    for part in (before, after):
        assert "alert(1)" not in part
        assert "{{7*7}}" not in part
    policy = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


@pytest.mark.parametrize("name", ["terminal", "markdown", "github", "junit"])
def test_h02_h03_what_moves_the_cursor_or_hides_text(rendered, name):
    """The harness looks for control characters; here, for what turns or hides text."""
    text = rendered(name, env={"COLUMNS": "400"})
    assert not set("\u202e\u202c\u200b\x1b\x07\r") & set(text)
    assert "\\x1b" in text
    assert "\\u202e" in text
    assert "red]bold" in text, "brackets are not read as a style"


def test_h02_names_on_the_other_commands(checked, isomorph):
    for words in (["inspect", checked / "b.onnx", "--nodes"], ["lint", checked / "b.onnx"]):
        text = isomorph(*words).out
        assert not set("\u202e\u200b\x1b\x07\r") & set(text)
    assert "\\x1b" in isomorph("inspect", checked / "b.onnx", "--nodes").out


def test_h04_there_is_no_table_for_a_spreadsheet(isomorph, checked):
    """No format is CSV, so no cell can be taken for a formula; nobody gets one by asking."""
    ran = isomorph("report", checked / "r.json", "--format", "csv")
    ran.refused("UNKNOWN_FORMAT", mentions=("csv", "json"))


def test_h05_junit_and_sarif_stay_valid(rendered):
    text = rendered("junit")
    xmlschema.XMLSchema(SCHEMAS / "junit.xsd").validate(text)
    assert ET.fromstring(text).findall(".//failure")
    document = json.loads(rendered("sarif"))
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    jsonschema.Draft7Validator(schema).validate(document)
    assert document["runs"][0]["results"][0]["ruleId"] == "GUILTY_NODE"


def test_h06_a_name_gives_no_orders_to_a_workflow(rendered, tmp_path):
    """Neither in the annotations nor in the log, where a workflow reads every line."""
    summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    lines = rendered("github", env=summary, makes=["summary.md"]).splitlines()
    assert lines
    for line in lines:
        assert re.match(r"::(error|warning|notice) [a-z]+=[^:]*::", line), line
        assert "%0A" not in line.replace("%250A", ""), "a break of the name's own is escaped"
    others = (tmp_path / "summary.md").read_text() + rendered("terminal")
    for line in others.splitlines():
        assert not line.lstrip().startswith(("::", "##["))


@pytest.fixture
def viewed(checked, isomorph):
    """`isomorph view` of the folder: its address and the token."""
    with isomorph.started("view", str(checked), "--no-browser", stdout=subprocess.PIPE) as server:
        address = urlsplit(server.stdout.readline().strip())
        yield address.hostname, address.port, address.fragment.removeprefix("token=")
        server.send_signal(signal.SIGINT)
        server.stdout.close()
        assert server.wait(timeout=120) == 0


def _asked(viewed, path, **headers):
    host, port, token = viewed
    connection = http.client.HTTPConnection(host, port, timeout=120)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for key, word in {"Authorization": f"Bearer {token}", **headers}.items():
        connection.putheader(key, word)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def test_h07_only_the_loopback_is_served(isomorph, checked):
    ran = isomorph("view", checked, "--host", "0.0.0.0", "--no-browser", within=30)
    ran.refused("USAGE", mentions=("--host",))


def test_h08_a_name_that_leads_here_is_not_ours(viewed):
    status, headers, body = _asked(viewed, "/reports")
    assert status == 200
    assert json.loads(body)
    assert not [key for key in headers if key.lower().startswith("access-control")]
    for name in ("evil.test", f"evil.test:{viewed[1]}", "127.0.0.1.evil.test"):
        for path in ("/", "/reports"):
            assert _asked(viewed, path, Host=name)[0] == 400


@pytest.mark.parametrize(
    "path",
    [
        "/tensor?path=../../etc/passwd",
        "/tensors/../../etc/passwd",
        "/tensors/..%2f..%2fetc%2fpasswd",
        "/reports/%2e%2e/%2e%2e/etc/passwd",
        "/reports/r.json",
        "/reports/link.json",
    ],
)
def test_h09_no_path_is_an_address(viewed, checked, path):
    link = checked / "link.json"
    if not link.is_symlink():
        link.symlink_to("/etc/passwd")
    status, _, body = _asked(viewed, path)
    assert status == 404
    assert b"root:" not in body
    assert b"link.json" not in _asked(viewed, "/reports")[2]


def test_h10_ten_thousand_nodes(isomorph, tmp_path, checked):
    """The page of a report of that size; that it opens within 3 s is seen in tests/browser."""
    report = json.loads((checked / "r.json").read_text())
    side = report["profile"]["graphs"][1]
    count = 10_000
    for key, column in side.items():
        if isinstance(column, list) and column:
            side[key] = [column[place % len(column)] for place in range(count)]
    side["nodes"] = [f"{'deeply/nested/' * 3}node_{place}" for place in range(count)]
    (tmp_path / "large.json").write_text(json.dumps(report))
    ran = isomorph(
        "report", "large.json", "--format", "html", "-o", "p.html", within=60, makes=["p.html"]
    )
    assert ran.exit == 0, ran
    assert (tmp_path / "p.html").stat().st_size < 25_000_000

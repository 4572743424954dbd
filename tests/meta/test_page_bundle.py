"""The pages that ship are those that web/ builds; nobody needs Node to know that."""

import base64
import hashlib
import json
import re

import pytest

from isomorph.web import DATA, bundle

PAGES = pytest.mark.parametrize("name", ["page", "diff"])
SHARED = ("package-lock.json", "package.json", "src/dom.ts", "src/style.css")
"""What the page of a diff takes from that of a report."""
OWN = ("index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts")


def _source_digest(web, name):
    if name == "diff":
        files = sorted([*SHARED, *(f"diff/{path.name}" for path in (web / "diff").iterdir())])
    else:
        files = sorted([*OWN, *(f"src/{path.name}" for path in (web / "src").iterdir())])
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.encode() + b"\0" + (web / file).read_bytes())
    return digest.hexdigest()


@PAGES
def test_the_shipped_page_is_built_from_this_source(root, name):
    (built,) = re.findall(r'name="built-from" content="([0-9a-f]*)"', bundle(name))
    changed = "web/ changed: run `make web` and commit the pages"
    assert built == _source_digest(root / "web", name), changed


@PAGES
def test_the_page_may_run_its_own_script_only(name):
    page = bundle(name)
    (script,) = re.findall(r'<script type="module"[^>]*>(.*?)</script>', page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy"\s+content="([^"]*)"', page)
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "connect-src 'none'" in policy


@PAGES
def test_the_page_loads_nothing(name):
    page = re.sub(r'<script type="module"[^>]*>.*?</script>', "", bundle(name), flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', page)
    assert "url(" not in page
    assert page.count(DATA) == 1


def test_the_lock_file_names_no_registry(root):
    lock = json.loads((root / "web" / "package-lock.json").read_text())
    assert len(lock["packages"]) > 10
    assert not [name for name, one in lock["packages"].items() if "resolved" in one]
    assert all("integrity" in one for name, one in lock["packages"].items() if name)

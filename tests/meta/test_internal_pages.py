"""Pages for developers name files that exist."""

import re

import pytest

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/internals/*.md")
FILE = re.compile(r"`([\w./*-]+(?:\.py|\.ts|\.json|/))`")
BASES = ("", "src/isomorph")
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")
GENERATED = ("benchmarks/results/", "summary.json")


def _missing(root, text):
    for name in FILE.findall(text):
        if PLACEHOLDER.search(name) or name.startswith(GENERATED):
            continue
        places = BASES if "/" in name.rstrip("/") else (*BASES, "src", "benchmarks")
        pattern = name.rstrip("/") if "/" in name.rstrip("/") else f"**/{name.rstrip('/')}"
        if not any(next((root / base).glob(pattern), None) for base in places):
            yield name


@pytest.mark.parametrize("pages", PAGES)
def test_every_file_that_a_page_names_exists(root, pages):
    found = sorted(root.glob(pages))
    assert found, "no such page"
    missing = {page.name: names for page in found
               if (names := list(_missing(root, page.read_text(encoding="utf-8"))))}  # fmt: skip
    assert not missing


def test_a_missing_file_is_seen(root):
    assert list(_missing(root, "`check/nothing.py` and `core/model.py`")) == ["check/nothing.py"]

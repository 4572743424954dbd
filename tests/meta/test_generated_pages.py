"""The pages of docs/ that follow from the source say what the source says."""

import importlib.util

import pytest


def _pages(root):
    spec = importlib.util.spec_from_file_location("generate", root / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.pages())


def test_generated_pages_are_current(root):
    pages = _pages(root)
    assert len(pages) > 15
    old = [path.name for path, text in pages.items() if path.read_text(encoding="utf-8") != text]
    assert not old, "run: python docs/generate.py"


@pytest.mark.parametrize(
    "page",
    ["README.md", "getting-started.md", "method.md", "internals/README.md",
     "internals/adding-a-framework.md"],
)  # fmt: skip
def test_links_between_pages_lead_somewhere(root, page):
    folder = (root / "docs" / page).parent
    text = (root / "docs" / page).read_text(encoding="utf-8")
    targets = [part.partition(")")[0] for part in text.split("](")[1:]]
    local = [each for each in targets if "://" not in each and not each.startswith("#")]
    missing = [each for each in local if not (folder / each.partition("#")[0]).exists()]
    assert not missing

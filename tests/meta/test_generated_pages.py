"""The pages of docs/ that follow from the source say what the source says."""

import importlib.util


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

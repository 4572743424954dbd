"""Links and pictures of all pages lead somewhere: to a file, and to a heading in it."""

import importlib.util
import re
import sys

import pytest

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LARGEST_PICTURES = 2_000_000


def _without_code(text):
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def _slug(heading):
    """The anchor that GitHub gives to a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def _anchors(text):
    headings = re.findall(r"^#{1,6} (.+)$", FENCE.sub("", text), re.M)
    return {_slug(each) for each in headings}


def broken(page, text):
    """The links of a page that lead nowhere."""
    for target in LINK.findall(_without_code(text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        if name and not there.exists():
            yield target
        elif anchor and there.suffix == ".md":
            shown = there.read_text(encoding="utf-8") if name else text
            if anchor not in _anchors(shown):
                yield target


def _pages(tracked):
    return [path for path in tracked if path.suffix == ".md"]


def test_every_link_leads_somewhere(tracked, root):
    pages = _pages(tracked)
    assert len(pages) > 30
    found = {
        str(page.relative_to(root)): links
        for page in pages
        if (links := list(broken(page, page.read_text(encoding="utf-8"))))
    }
    assert not found


@pytest.mark.parametrize(
    ("link", "leads_nowhere"),
    [
        ("[a](there.md)", False),
        ("[a](gone.md)", True),
        ("![a](gone.png)", True),
        ("[a](there.md#two-words)", False),
        ("[a](there.md#1-third-x)", True),
        ("[a](#own)", False),
        ("[a](#other)", True),
        ("`[a](gone.md)`", False),
    ],
)
def test_a_link_that_leads_nowhere_is_seen(tmp_path, link, leads_nowhere):
    (tmp_path / "there.md").write_text("# There\n\n## Two words\n")
    assert bool(list(broken(tmp_path / "page.md", f"# Own\n\n{link}\n"))) is leads_nowhere


def test_pages_of_the_table_of_contents_are_all_pages(tracked, root):
    docs = root / "docs"
    named = set(LINK.findall((docs / "README.md").read_text(encoding="utf-8")))
    pages = {path.name for path in _pages(tracked) if path.parent == docs} - {"README.md"}
    assert pages
    assert not pages - named


def test_every_picture_is_shown_and_all_are_small(tracked, root):
    pictures = [path for path in tracked
                if path.suffix in {".png", ".svg"} and root / "docs" in path.parents]  # fmt: skip
    assert len(pictures) > 5
    text = "\n".join(page.read_text(encoding="utf-8") for page in _pages(tracked))
    assert not [path.name for path in pictures if f"{path.name})" not in text]
    assert sum(path.stat().st_size for path in pictures) < LARGEST_PICTURES
    loads = re.compile(r"url\(.?https?:")
    drawn = [path for path in pictures if path.suffix == ".svg"]
    assert not [path.name for path in drawn if loads.search(path.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def drawn(root):
    """The list of pictures that docs/pictures.py draws."""
    spec = importlib.util.spec_from_file_location("pictures", root / "docs" / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["pictures"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module.PICTURES
    del sys.modules["pictures"]


def test_every_picture_of_a_terminal_is_drawn_by_the_program(drawn, root):
    files = {path.stem for path in (root / "docs" / "pictures").glob("*.svg")}
    assert files == {picture.name for picture in drawn}


def test_the_commands_of_a_picture_stand_in_the_picture(drawn, root):
    """A name that was changed in the list alone would leave an old picture."""
    for picture in drawn:
        text = (root / "docs" / "pictures" / f"{picture.name}.svg").read_text(encoding="utf-8")
        plain = re.sub(r"<[^>]+>", "", text).replace("&#160;", " ")
        for command in picture.commands:
            assert f"$ {command}" in plain, picture.name

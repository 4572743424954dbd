"""The page of a sweep: a place for every cell, its words, and no script."""

import re

from isomorph.core.sweep_changes import CellChange, ChangeKind, SweepChanges
from isomorph.reporters.sweep_page import as_changes_page, as_page
from sweep_results import FOUND, cell


def test_every_cell_states_its_outcome_in_words():
    page = as_page(FOUND)
    places = re.findall(r'<td class="([a-z]+) s\d">.*?</td>', page)
    assert places == ["equivalent", "divergent", "error", "left"]
    assert "<b>≠</b> divergent <small>31×</small>" in page


def test_a_cell_leads_to_its_report_or_to_what_is_known_of_it():
    page = as_page(FOUND, {"1": "pages/1.html"})
    assert '<a href="pages/1.html"><b>=</b> equivalent' in page
    (anchor,) = re.findall(r'<a href="#(cell-\w+)"><b>≠', page)
    assert f'<section id="{anchor}" class="divergent">' in page
    assert "<dt>node</dt><dd>conv</dd>" in page


def test_a_larger_error_is_darker():
    shades = re.findall(r'class="(?:equivalent|divergent) (s\d)"', as_page(FOUND))
    assert shades == ["s1", "s4"]


def test_names_are_text_and_nothing_is_loaded_or_run():
    page = as_page(FOUND)
    assert "no &lt;such&gt; file" in page
    assert "<script" not in page
    assert re.search(r"default-src 'none'; style-src 'sha256-[\w+/]+='", page)


def test_changes_stand_in_a_table_for_each_kind():
    worse = CellChange(
        name="net@cpu", kind=ChangeKind.WORSE, before=FOUND.cells[0], after=FOUND.cells[1]
    )
    gone = CellChange(name="a<b>@cpu", kind=ChangeKind.GONE, before=cell("a", "cpu"), after=None)
    page = as_changes_page(SweepChanges(before="old", after="new", changes=(worse, gone)))
    assert page.index("<h2>Worse</h2>") < page.index("<h2>Gone</h2>")
    assert '<td class="none">—</td>' in page
    assert "a&lt;b&gt;@cpu" in page

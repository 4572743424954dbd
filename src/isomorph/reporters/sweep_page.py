"""A sweep as one page without scripts: a heat map of verdicts and errors, and what is not fine.

Every cell states its verdict in words and by a sign; color only repeats it. A cell links to the
page of its report where there is one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.reporters.sweep_text import FINE, SYMBOLS, column, ranked

if TYPE_CHECKING:
    from isomorph.core.sweep import CellResult, Sweep
    from isomorph.core.sweep_changes import CellChange, SweepChanges

_SHADES = (0.1, 0.5, 1.0, 10.0, 1000.0)
"""Shares of a budget at which the color of a cell becomes darker."""


def as_page(found: Sweep, pages: Mapping[str, str] | None = None) -> str:
    """The page; ``pages`` are addresses of report pages by the key of the cell."""
    links = pages or {}
    wrong = [each for each in found.cells if each.outcome not in FINE]
    fresh = sum(each.fresh for each in found.cells)
    about = message(
        "SWEEP.page_about",
        file=_text(found.file),
        store=_text(found.store),
        fresh=fresh,
        seconds=found.seconds,
        version=_text(found.version),
    )
    parts = [
        f"<h1>{message('SWEEP.title', cells=counted(len(found.cells), 'cell'))}</h1>",
        _counts(found),
        f'<p class="dim">{about}</p>',
    ]  # fmt: skip
    if found.interrupted:
        parts.append(f"<p>{message('SWEEP.interrupted')}</p>")
    parts += [_matrix(found, links)]
    if wrong:
        parts.append(f"<h2>{message('SWEEP.not_fine')}</h2>")
        parts += [_detail(each, found, links) for each in wrong]
    verdicts = ", ".join(f"{number} {_word(name)}" for name, number in ranked(found))
    return _document(message("SWEEP.tab", verdicts=verdicts) if verdicts else "Sweep", parts)


def as_changes_page(found: SweepChanges) -> str:
    """What changed between two sweeps, one table for each kind of change."""
    counts = "".join(
        f'<li class="{_word(kind)}"><b>{count}</b> {_word(kind)}</li>'
        for kind, count in found.counted().items()
    )
    parts = [
        f"<h1>{message('SWEEP.changed')}</h1>", f'<ul class="counts">{counts}</ul>',
        f'<p class="dim">{_text(found.before)} → {_text(found.after)}</p>',
    ]  # fmt: skip
    for kind in found.counted():
        changed = [each for each in found.changes if each.kind == kind]
        if kind != "same":
            parts.append(f"<h2>{_text(kind.capitalize())}</h2>{_changes(changed)}")
    return _document(message("SWEEP.changes"), parts)


def _changes(changed: list[CellChange]) -> str:
    rows = "".join(
        f"<tr><th scope=row>{_text(each.name)}</th>{_side(each.before)}{_side(each.after)}</tr>"
        for each in changed
    )
    head = "<tr><th>cell</th><th>before</th><th>after</th></tr>"
    return f'<div class="wide"><table class="changes">{head}{rows}</table></div>'


def _side(cell: CellResult | None) -> str:
    if cell is None:
        return '<td class="none">—</td>'
    why = f'<small class="dim">{_text(cell.reason, 200)}</small>' if cell.reason else ""
    return f'<td class="{_word(cell.outcome)} {_shade(cell)}">{_answer(cell)}{why}</td>'


def _counts(found: Sweep) -> str:
    items = "".join(
        f'<li class="{_word(name)}"><b>{number}</b> {SYMBOLS.get(name, "?")} {_word(name)}</li>'
        for name, number in ranked(found)
    )
    return f'<ul class="counts">{items}</ul>'


def _matrix(found: Sweep, links: Mapping[str, str]) -> str:
    across = list(dict.fromkeys(column(each) for each in found.cells))
    cells = {(each.model, column(each)): each for each in found.cells}
    head = "".join(f"<th scope=col>{_text(name)}</th>" for name in across)
    rows = [
        f"<tr><th scope=row>{_text(model)}</th>"
        + "".join(_place(cells.get((model, name)), links) for name in across) + "</tr>"
        for model in dict.fromkeys(each.model for each in found.cells)
    ]  # fmt: skip
    return (
        f'<div class="wide" tabindex=0 role=region aria-label="{message("SWEEP.matrix")}">'
        f'<table class="matrix"><thead><tr><th scope=col>model</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="dim">{message("SWEEP.shades")}</p>'
    )


def _place(cell: CellResult | None, links: Mapping[str, str]) -> str:
    if cell is None:
        return '<td class="none"></td>'
    target = links.get(cell.key) if cell.report else None
    if target is None and cell.outcome not in FINE:
        target = f"#{_anchor(cell)}"
    answer = _answer(cell)
    shown = f'<a href="{escape(target)}">{answer}</a>' if target else f"<span>{answer}</span>"
    return f'<td class="{_word(cell.outcome)} {_shade(cell)}">{shown}</td>'


def _answer(cell: CellResult) -> str:
    ratio = "" if cell.ratio is None else f" <small>{cell.ratio:.2g}×</small>"
    return f"<b>{SYMBOLS.get(cell.outcome, '?')}</b> {_text(cell.outcome)}{ratio}"


def _detail(cell: CellResult, found: Sweep, links: Mapping[str, str]) -> str:
    facts = [
        ("node", cell.node), ("cause", cell.cause),
        ("error", "" if cell.ratio is None else message("SWEEP.share", ratio=cell.ratio)),
        ("time", f"{cell.seconds:.1f} s" if cell.seconds else ""),
        ("attempts", str(cell.attempts) if cell.attempts > 1 else ""),
        ("report", f"{found.store}/{cell.report}" if cell.report else ""),
    ]  # fmt: skip
    listed = "".join(f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in facts if value)
    target = links.get(cell.key) if cell.report else None
    link = f' <a href="{escape(target)}">{message("SWEEP.page")}</a>' if target else ""
    return (
        f'<section id="{_anchor(cell)}" class="{_word(cell.outcome)}"><h3>{_text(cell.name)} '
        f"<em>{SYMBOLS.get(cell.outcome, '?')} {_text(cell.outcome)}</em>{link}</h3>"
        f"<p>{_text(cell.reason, 600)}</p><dl>{listed}</dl></section>"
    )


def _shade(cell: CellResult) -> str:
    """``s0`` to ``s5``; the middle where no error was measured."""
    if cell.ratio is None:
        return "s3"
    return f"s{sum(cell.ratio > each for each in _SHADES)}"


def _anchor(cell: CellResult) -> str:
    return "cell-" + hashlib.sha256(cell.name.encode("utf-8", "replace")).hexdigest()[:16]


def _word(text: str) -> str:
    """The name of a class: letters alone."""
    return "".join(each for each in text if each.isascii() and each.isalpha())


def _text(text: str, limit: int = 300) -> str:
    return escape(printable(text, limit=limit))


def _document(title: str, parts: list[str]) -> str:
    style = files("isomorph.web").joinpath("sweep.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'"
    return "\n".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{style}</style></head><body><main>",
        *parts, "</main></body></html>", "",
    ])  # fmt: skip

"""The error along a graph as inline SVG: one line for each kind of error, on a log scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.profile import GraphProfile, Number

WIDTH, HEIGHT = 860, 190
LEFT, RIGHT, TOP, BOTTOM = 56, 10, 26, 24
_INNER = WIDTH - LEFT - RIGHT
_RUNS = {"reference": "#3b82c4", "candidate": "#b7791f"}
_SERIES = (
    # The hues of the page, distinguished by their dashes as well. A notebook does not say whether
    # it is light or dark, so each is readable on both.
    ("translation", "PROFILE.translation", "#d6336c", ""),
    ("execution", "PROFILE.execution", "", "6 3"),
    ("budget", "PROFILE.budget", "#868e96", "2 3"),
)
_MOST_LABELS = 3
_FLOOR = 1e-20
"""What is smaller is drawn at the lower edge: no float64 evaluation resolves it."""


def profile_drawing(graph: GraphProfile, faulty: set[str]) -> str:
    """The errors of each node of a graph in topological order; ``faulty`` nodes are marked."""
    series = [
        (
            message(title, role=printable(graph.role)),
            color or _RUNS.get(graph.role, _RUNS["candidate"]),
            dash,
            getattr(graph, name),
        )
        for name, title, color, dash in _SERIES
        if any(_shown(value) for value in getattr(graph, name))
    ]
    values = [value for *_, line in series for value in line if value is not None and _shown(value)]
    if not values:
        return ""
    low = math.floor(math.log10(max(min(values), _FLOOR)))
    high = max(math.ceil(math.log10(max(values))), low + 1)
    # What is exact in every respect (sizes, masks) would pull each line to the lower edge.
    drawn = [
        place
        for place, name in enumerate(graph.nodes)
        if name in faulty or any(_shown(line[place]) for *_, line in series)
    ]
    count = len(graph.nodes)
    parts = [
        *_axis(low, high, count),
        *(
            _line([line[place] for place in drawn], low, high, color, dash)
            for _, color, dash, line in series
        ),
        *_marks([graph.nodes[place] for place in drawn], faulty),
        *_legend([(title, color, dash) for title, color, dash, _ in series]),
    ]
    title = message("PROFILE.title", count=count, role=escape(printable(graph.role)))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width:100%;height:auto" '
        f'role="img" aria-label="{title}" font-family="system-ui,sans-serif" font-size="11">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _shown(value: Number) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def _height(value: float, low: int, high: int) -> float:
    share = (math.log10(max(value, _FLOOR)) - low) / (high - low)
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(1.0, max(0.0, share)))


def _across(place: int, count: int) -> float:
    return LEFT + _INNER * (place + 0.5) / count


def _axis(low: int, high: int, count: int) -> Iterator[str]:
    step = max(1, math.ceil((high - low) / 5))
    for power in range(low, high + 1, step):
        y = _height(10.0**power, low, high)
        yield (
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="currentColor" stroke-opacity=".15"/>'
        )
        yield (
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="currentColor">'
            f"1e{power}</text>"
        )
    yield (
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 7}" text-anchor="end" fill="currentColor">'
        f"{message('PROFILE.axis', count=count)}</text>"
    )


def _line(values: Sequence[Number], low: int, high: int, color: str, dash: str) -> str:
    """One path; where several nodes share a pixel, their largest value."""
    columns: dict[int, float] = {}
    for place, value in enumerate(values):
        if value is not None and math.isfinite(value):
            x = round(_across(place, len(values)))
            columns[x] = max(columns.get(x, 0.0), value)
    points = [f"{x},{_height(value, low, high):.1f}" for x, value in sorted(columns.items())]
    if len(points) == 1:
        left, _, top = points[0].partition(",")
        return f'<circle cx="{left}" cy="{top}" r="2.5" fill="{color}"/>'
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    joined = " ".join(points)
    return f'<polyline points="{joined}" fill="none" stroke="{color}" stroke-width="1.7"{dashes}/>'


def _marks(nodes: Sequence[str], faulty: set[str]) -> Iterator[str]:
    places = [place for place, name in enumerate(nodes) if name in faulty]
    for rank, place in enumerate(places):
        x = _across(place, len(nodes))
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
            'stroke="#e03131" stroke-width="1.2"/>'
        )
        if rank < _MOST_LABELS:
            anchor = "end" if x > WIDTH / 2 else "start"
            name = escape(printable(nodes[place], limit=60))
            shift = -4 if anchor == "end" else 4
            yield (
                f'<text x="{x + shift:.1f}" y="{TOP + 11 + 13 * rank}" text-anchor="{anchor}" '
                f'font-weight="600" fill="currentColor">{name}</text>'
            )


def _legend(series: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    x = LEFT
    for title, color, dash in series:
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        yield (
            f'<line x1="{x}" x2="{x + 22}" y1="10" y2="10" stroke="{color}" '
            f'stroke-width="2"{dashes}/>'
        )
        yield f'<text x="{x + 28}" y="14" fill="currentColor">{title}</text>'
        x += 44 + 6 * len(title)

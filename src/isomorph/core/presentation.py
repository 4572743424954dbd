"""What a result looks like in an interpreter and a notebook, and how it is written to a file.

The dataclasses stand below everything that can render them, and know no reporter. Their renderer
is found by its name when it is first asked for, as an extension is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from isomorph.core.escaping import printable

if TYPE_CHECKING:
    from pathlib import Path

_RENDERER = "isomorph.reporters.documents"
_LONGEST = 300


class Renderer(Protocol):
    """What the module of that name has."""

    def rendered(self, report: Any, format: str) -> str:  # noqa: A002, ANN401
        """The report in one of the formats of ``isomorph check --format``."""
        ...

    def write_report(self, report: Any, path: str | Path, format: str | None) -> Path:  # noqa: A002, ANN401
        """Write it, in the format of the suffix if none is named."""
        ...

    def notebook_cell(self, report: Any) -> str:  # noqa: ANN401
        """HTML without a script, for the output of a notebook's cell."""
        ...

    def finding_rows(self, report: Any) -> list[dict[str, Any]]:  # noqa: ANN401
        """One flat row for each finding."""
        ...


def _renderer() -> Renderer:
    return cast("Renderer", import_module(_RENDERER))


def short(kind: str, *parts: str) -> str:
    """``<Report DIVERGENT: a.onnx → b.onnx>``: a result in one line, safe to print."""
    return f"<{kind} {printable(' '.join(filter(None, parts)), limit=_LONGEST)}>"


class PresentableReport:
    """The methods by which a report is shown and written."""

    __slots__ = ()

    def to_json(self) -> str:
        """The whole report as JSON, as ``isomorph check --format json`` writes it.

        ``isomorph.load_report`` reads it from a file, and its JSON Schema is printed by
        ``isomorph explain --schema report``.

        >>> report = isomorph.check("network.onnx", "altered.onnx")
        >>> '"verdict": "divergent"' in report.to_json()
        True
        """
        return _renderer().rendered(self, "json")

    def to_html(self) -> str:
        """The page, as ``isomorph check --format html`` writes it: one file, no network.

        A check with ``profile=True, align=True`` has the graphs and the error of every node.

        >>> page = isomorph.check("network.onnx", "altered.onnx", profile=True).to_html()
        >>> page.startswith("<!doctype html>")
        True
        """
        return _renderer().rendered(self, "html")

    def save(self, path: str | Path, *, format: str | None = None) -> Path:  # noqa: A002
        """Write the report to a file, in the format of its suffix; the path of the file.

        ``.json``, ``.html``, ``.md``, ``.xml`` (JUnit), ``.sarif`` and ``.txt``; ``format`` names
        one of ``isomorph check --format`` for any other suffix. An existing file is replaced.

        >>> report = isomorph.check("network.onnx", "altered.onnx")
        >>> report.save("report.json").name
        'report.json'
        >>> isomorph.load_report("report.json") == report
        True
        """
        return _renderer().write_report(self, path, format)

    def findings_table(self) -> list[dict[str, Any]]:
        """The findings as flat rows: ``pandas.DataFrame(report.findings_table())``.

        Each has the same keys, with None where a finding has no such fact.

        >>> report = isomorph.check("network.onnx", "altered.onnx")
        >>> row = report.findings_table()[0]
        >>> row["rank"], row["code"], row["node"], row["cause"]
        (1, 'GUILTY_NODE', 'block3.first', 'weight')
        """
        return _renderer().finding_rows(self)

    def _repr_html_(self) -> str:
        """The output of a notebook's cell: verdict, findings and error profile."""
        return _renderer().notebook_cell(self)

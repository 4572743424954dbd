"""A baseline in which the divergence of a report is accepted."""

from __future__ import annotations

import isomorph
from isomorph import api, registry


def accepted(report, folder):
    """The baseline file and its only entry, for a report whose given inputs show nothing."""
    assert report.verdict is isomorph.Verdict.DIVERGENT
    assert all(each.verdict is isomorph.Verdict.EQUIVALENT for each in report.outputs)
    path = folder / "report.json"
    path.write_text(registry.reporter("json").render(report))
    file = folder / "known.toml"
    (entry,) = api.accept(path, why="known", who="Ada", baseline=file, pair="p")
    return file, entry

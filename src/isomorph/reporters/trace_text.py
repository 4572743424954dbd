"""The text of a run and of a recorded trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.core.messages import message
from isomorph.reporters.table import columns, shape_text

if TYPE_CHECKING:
    from isomorph.core.recording import Record
    from isomorph.core.trace import Environment, Trace

_HEAD = ("tensor", "type", "shape", "min", "max", "mean", "NaN", "Inf")


def as_text(trace: Trace) -> str:
    """A table of the tensors below a line with the runtime and device."""
    rows = [_HEAD, *(_row(name, value) for name, value in trace.tensors.items())]
    return f"{_place(trace.environment)}, {trace.environment.precision}\n{columns(rows)}"


def record_lines(record: Record, output: Path) -> list[str]:
    """What was recorded, and what can be done with it."""
    place = _place(record.run.environment)
    key = "TRACE.recorded" if record.oracle is not None else "TRACE.without_oracle"
    count = len(record.run.tensors)
    return [
        message(key, count=count, model=record.model.location, place=place),
        *(message("TRACE.note", note=note) for note in record.notes),
        message("TRACE.compare", folder=output),
    ]


def _place(environment: Environment) -> str:
    return message(
        "TRACE.place",
        runtime=environment.runtime,
        version=environment.version,
        device=environment.device,
    )


def _row(name: str, value: Any) -> tuple[str, ...]:  # noqa: ANN401
    if value is None:
        return (name, "absent", "", "", "", "", "", "")
    kind = "string" if value.dtype.kind in "OSUT" else str(value.dtype)
    return (name, kind, shape_text(value.shape), *_figures(value))


def _figures(value: Any) -> Iterator[str]:  # noqa: ANN401
    import numpy as np

    # Text and complex numbers have no order; neither has a tensor without elements.
    if value.size == 0 or value.dtype.kind in "OSUTc":
        yield from ("",) * 5
        return
    wide = np.asarray(value).astype(np.float64)
    finite = wide[np.isfinite(wide)]
    for figure in (np.min, np.max, np.mean):
        yield f"{figure(finite):.6g}" if finite.size else ""
    yield str(int(np.isnan(wide).sum()))
    yield str(int(np.isinf(wide).sum()))

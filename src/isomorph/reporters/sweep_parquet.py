"""The rows of a sweep as a Parquet file, for programs that read tables."""

from __future__ import annotations

import io
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from isomorph.core.lazy import require
from isomorph.core.sweep import CellResult

if TYPE_CHECKING:
    from isomorph.core.sweep import Sweep

_TYPES = {"int": "int64", "int | None": "int64", "float": "float64", "float | None": "float64",
          "bool": "bool_"}  # fmt: skip


def require_parquet() -> tuple[Any, Any]:
    """The package that writes the format, or the error that says how to install it."""
    names = ("pyarrow", "pyarrow.parquet")
    arrow, parquet = (
        require(each, extra="parquet", needed_for="--export as Parquet") for each in names
    )
    return arrow, parquet


def as_parquet(found: Sweep) -> bytes:
    """One row for each cell, with every field in its own type, so that an empty sweep has them."""
    arrow, parquet = require_parquet()
    columns = fields(CellResult)
    schema = arrow.schema([
        (each.name, getattr(arrow, _TYPES.get(str(each.type), "string"))()) for each in columns
    ])  # fmt: skip
    rows = [
        {name: value if not isinstance(value, str) else str(value)
         for name, value in asdict(each).items()}
        for each in found.cells
    ]  # fmt: skip
    stream = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows, schema=schema), stream)
    return stream.getvalue()

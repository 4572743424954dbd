"""Results as a table for a person and as JSON for a program."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
_PACKAGES = ("isomorph", "numpy", "onnx", "onnxruntime", "torch", "polygraphy")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the first to the left, figures to the right."""
    widths = [max(len(row[n]) for row in (titles, *rows)) for n in range(len(titles))]
    lines = [_line(titles, widths), "  ".join("─" * width for width in widths)]
    return "\n".join([*lines, *(_line(row, widths) for row in rows)])


def write_json(name: str, results: Mapping[str, Any]) -> Path:
    """``results`` with the machine and the versions they were measured on; says where it went."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    document = _plain({"benchmark": name, "measured_on": machine(), **results})
    path.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    print(f"written: benchmarks/results/{path.name}\n")
    return path


def machine() -> dict[str, Any]:
    """Figures mean something only beside these."""
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _plain(value: Any) -> Any:
    # JSON has no NaN or infinity, and here they are results, not accidents.
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value

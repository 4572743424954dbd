"""Is the converted model still the same function? If not: which node, why, what repairs it.

The public names are resolved on first use: importing isomorph loads no numpy and no framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isomorph.version import VERSION as __version__  # noqa: N811

if TYPE_CHECKING:
    from isomorph.api import (
        bisect,
        check,
        convert,
        diff,
        extract,
        fix,
        inspect,
        lint,
        load_report,
        prove,
        ranges,
        run,
        stress,
        sweep,
        trace,
    )
    from isomorph.api.options import (
        CheckOptions,
        ConvertOptions,
        Limits,
        PairOptions,
        RuntimeOptions,
    )
    from isomorph.core.divergence import Verdict
    from isomorph.core.errors import IsomorphError
    from isomorph.core.report import Finding, Report
    from isomorph.kernels.custom import op

_HOME = {
    "CheckOptions": "isomorph.api.options",
    "ConvertOptions": "isomorph.api.options",
    "Finding": "isomorph.core.report",
    "IsomorphError": "isomorph.core.errors",
    "Limits": "isomorph.api.options",
    "PairOptions": "isomorph.api.options",
    "Report": "isomorph.core.report",
    "RuntimeOptions": "isomorph.api.options",
    "Verdict": "isomorph.core.divergence",
    "bisect": "isomorph.api",
    "check": "isomorph.api",
    "convert": "isomorph.api",
    "diff": "isomorph.api",
    "extract": "isomorph.api",
    "fix": "isomorph.api",
    "inspect": "isomorph.api",
    "lint": "isomorph.api",
    "load_report": "isomorph.api",
    "op": "isomorph.kernels.custom",
    "prove": "isomorph.api",
    "ranges": "isomorph.api",
    "run": "isomorph.api",
    "stress": "isomorph.api",
    "sweep": "isomorph.api",
    "trace": "isomorph.api",
}

__all__ = [
    "CheckOptions",
    "ConvertOptions",
    "Finding",
    "IsomorphError",
    "Limits",
    "PairOptions",
    "Report",
    "RuntimeOptions",
    "Verdict",
    "__version__",
    "bisect",
    "check",
    "convert",
    "diff",
    "extract",
    "fix",
    "inspect",
    "lint",
    "load_report",
    "op",
    "prove",
    "ranges",
    "run",
    "stress",
    "sweep",
    "trace",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'isomorph' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)

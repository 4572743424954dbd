"""``isomorph demo``: one network, two conversions, one of them wrong."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Option
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.demo import DemoFiles

NOT_AS_EXPECTED = 70
USUAL_TOLERANCE = 1e-3
"""A tolerance that people commonly type; it decides nothing here."""


def demo(
    *,
    keep: Annotated[
        Path | None, Option("--keep", help="Keep the models and reports in this new folder.")
    ] = None,
    onnx: Annotated[
        bool, Option("--onnx", help="Convert an ONNX network, even if PyTorch is installed.")
    ] = False,
    debug: options.Debug = False,
) -> int:
    """Convert a network twice, once with a fault; check both.

    With PyTorch installed, a PyTorch network is exported to ONNX; without it, ONNX Runtime's
    optimizer folds an ONNX network.

    Exit codes: 0 the answers are as they should be, 70 they are not.
    """
    from isomorph.cli.output import write
    from isomorph.cli.progress import Progress

    from_torch = _has_torch() and not onnx
    with _place(keep) as name:
        folder = Path(name)
        with Progress() as progress:
            progress(message("DEMO.converting"), message("DEMO.twice"))
            files = _written(folder, from_torch=from_torch)
        write(message("DEMO.begins", made_by=files.made_by), None)
        right = _check_conversion(
            message("DEMO.faithful"), files.reference, files.faithful, folder, "equivalent",
            page=False,
        )  # fmt: skip
        wrong = _check_conversion(
            message("DEMO.fault", change=files.change), files.reference, files.altered, folder,
            "divergent", page=keep is not None,
        )  # fmt: skip
    if keep is None:
        write(message("DEMO.keep"), None)
    if not (from_torch or onnx):
        write(message("DEMO.with_torch"), None)
    return 0 if right and wrong else NOT_AS_EXPECTED


def _has_torch() -> bool:
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("torch", "onnxscript"))


def _written(folder: Path, *, from_torch: bool) -> DemoFiles:
    if from_torch:
        from isomorph.frameworks.pytorch.demo import write_demo
    else:
        from isomorph.frameworks.onnx.demo import write_demo
    return write_demo(folder)


def _place(keep: Path | None) -> AbstractContextManager[str | Path]:
    if keep is None:
        return tempfile.TemporaryDirectory(prefix="isomorph-demo-")
    try:
        keep.mkdir(parents=True)
    except FileExistsError as error:
        raise error_of(UsageError, "OUTPUT_EXISTS.demo", file=str(keep)) from error
    return nullcontext(keep)


def _check_conversion(
    title: str, reference: Path, candidate: Path, folder: Path, expected: str, *, page: bool
) -> bool:
    """Check one conversion through the API, as any program would; whether the answer is right."""
    from isomorph import api, registry
    from isomorph.cli.output import show_report, write
    from isomorph.cli.progress import Progress
    from isomorph.core.divergence import Verdict

    rule = "─" * 72
    write(f"{rule}\n{title}\n$ isomorph check {reference.name} {candidate.name}\n", None)
    with Progress() as progress:
        report = api.check(
            reference,
            candidate,
            options=api.CheckOptions(profile=page, align=page or None),
            progress=progress,
        )
    write(registry.reporter("json").render(report), folder / f"{candidate.stem}.json")
    show_report(report, registry.reporter("terminal"), None)
    gaps = [one.observed.distance.max_rel for one in report.outputs if one.observed]
    largest = max((gap for gap in gaps if gap is not None), default=None)
    unseen = largest is not None and largest <= USUAL_TOLERANCE
    if unseen and report.verdict is Verdict.DIVERGENT:
        write(f"{message('DEMO.allclose', largest=largest, tolerance=USUAL_TOLERANCE)}\n", None)
    if page:
        shown = folder / f"{candidate.stem}.html"
        write(registry.reporter("html").render(report), shown)
        write(f"{message('DEMO.page', file=shown)}\n", None)
    met = str(report.verdict) == expected
    if not met:
        write(message("DEMO.unexpected", expected=expected, verdict=report.verdict), None)
    return met

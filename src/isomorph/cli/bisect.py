"""``isomorph bisect``: the release, optimizer, operator set or pass that changed a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isomorph.cli import convert_options, options
from isomorph.cli.option_groups import InputFlags, LoadFlags, PairFlags, options_of
from isomorph.cli.parameters import Argument, Option
from isomorph.core.bisection import PointKind

if TYPE_CHECKING:
    from isomorph.core.bisection import Trial

FORMATS = ("terminal", "json")


def bisect(
    reference: Annotated[str, Argument(metavar="REFERENCE", help="The model to trust, or alone.")],
    candidate: Annotated[
        str | None, Argument(metavar="CANDIDATE", help="The other; its run is usually searched.")
    ] = None,
    *,
    convert: Annotated[
        str | None,
        Option("--convert", metavar="TARGET", help="A format: convert REFERENCE at each point."),
    ] = None,
    package: Annotated[
        str | None,
        Option("--package", metavar="NAME", help="As in onnxruntime, torch or onnxslim."),
    ] = None,
    versions: Annotated[
        str,
        Option(
            "--versions",
            metavar="A..B",
            help="As in 1.17..1.31; or single ones: 1.2,1.4. Of opsets: 9..18.",
        ),
    ] = "..",
    over: Annotated[
        str,
        Option("--over", help="releases; optimizers of a run; opsets or passes of a conversion."),
    ] = str(PointKind.RELEASES),
    via: convert_options.Via = None,
    quantize: options.Quantize = None,
    opset: convert_options.Opset = None,
    side: Annotated[
        str | None, Option("--side", metavar="SIDE", help="reference or candidate: where it runs.")
    ] = None,
    python: Annotated[
        str | None,
        Option("--python", metavar="PYTHON", help="Of the environments: a path or python:3.10."),
    ] = None,
    requirements: Annotated[
        list[str] | None,
        Option("--with", metavar="REQUIREMENT", help="Install this as well; repeatable."),
    ] = None,
    cache: Annotated[
        Path | None, Option("--cache", metavar="DIR", help="Where environments are kept.")
    ] = None,
    reproducer: Annotated[
        Path | None, Option("--reproducer", metavar="DIR", help="A new folder that shows it.")
    ] = None,
    input_flags: InputFlags,
    pair_flags: PairFlags,
    load_flags: LoadFlags,
    format: Annotated[  # noqa: A002 - the word on the command line
        str | None, Option("--format", help="terminal or json.")
    ] = None,
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Find the release, optimizer, operator set or pass that changed a verdict.

    Both ends are checked first, then halves; each release runs in an environment that is made for
    it and kept. With --convert the converter runs there, and its result is checked here.

    Exit codes: 0 a change was found, or both ends agree; 3 fewer than two points have a verdict;
    2, 4, 130 as everywhere.
    """
    from isomorph import api
    from isomorph.cli.output import write
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.reporters import bisection_text
    from isomorph.reporters.json import as_json
    from isomorph.store.targets import check_target

    format = options.require_choice(  # noqa: A001 - the word on the command line
        "--format", format_of(format, output, FORMATS), FORMATS
    )
    options.require_choice("--over", over, tuple(PointKind))
    if side is not None:
        options.require_choice("--side", side, options.SIDES)
    check_target(output, reference, candidate, input_flags.inputs, load_flags.state)
    with Progress() as progress:
        found = api.bisect(
            reference,
            candidate,
            convert=convert,
            via=options.separated(via),
            quantize=quantize,
            opset=opset,
            package=package or "",
            versions=versions,
            over=over,
            side=side,
            python=python,
            extra=requirements or (),
            cache=cache,
            reproducer=reproducer,
            progress=progress,
            on_trial=_show_trial,
            **options_of(input_flags, pair_flags, load_flags),
        )
    write(as_json(found) if format == "json" else bisection_text.as_text(found), output)
    return found.exit_code


def _show_trial(trial: Trial) -> None:
    """One line on stderr for each point that was tried."""
    import sys

    from isomorph.reporters.bisection_text import as_line

    sys.stderr.write(f"isomorph: {as_line(trial)}\n")

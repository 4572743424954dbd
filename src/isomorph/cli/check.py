"""``isomorph check``: are these two models the same function?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import InputFlags, LoadFlags, PairFlags, arguments, given
from isomorph.cli.parameters import Argument, Option


def check(
    reference: Annotated[
        str | None,
        Argument(
            metavar="REFERENCE",
            help="The model to trust, or its recorded outputs (.npz, .safetensors). "
            "Or the name of a pair in isomorph.toml; without it, all of them.",
        ),
    ] = None,
    candidate: Annotated[
        str | None,
        Argument(
            metavar="CANDIDATE",
            help="The model to check. Without it, REFERENCE is compared with its own oracle.",
        ),
    ] = None,
    *,
    input_flags: InputFlags,
    data: Annotated[
        Path | None,
        Option("--data", help="Many samples: a folder of array files, or one with a sample axis."),
    ] = None,
    metric: Annotated[
        str | None,
        Option(
            "--metric",
            metavar="MODULE:FUNCTION",
            help="Your own measure (outputs, sample) → number, over --data; with --trust.",
        ),
    ] = None,
    dims: options.Sizes = None,
    budget: options.Budget = None,
    pair_flags: PairFlags,
    locate: Annotated[
        bool | None,
        Option(
            "--locate/--no-locate",
            help="Name the faulty nodes of a divergence, which is the default, or do not.",
        ),
    ] = None,
    align: Annotated[
        bool | None,
        Option(
            "--align/--no-align",
            help="Pair every tensor of the two graphs; without it, where faulty nodes are sought.",
        ),
    ] = None,
    quantization: Annotated[
        bool | None,
        Option(
            "--quantization/--no-quantization",
            help="Measure every quantized tensor, or none; without it, up to a few hundred.",
        ),
    ] = None,
    profile: Annotated[
        bool | None,
        Option(
            "--profile/--no-profile",
            help="Keep the error of every node, for a page; html does, json where it localizes.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        Option("--baseline", help="Divergences that were accepted (isomorph accept)."),
    ] = None,
    pair: Annotated[
        str | None, Option("--pair", help="The name under which the baseline knows these two.")
    ] = None,
    strict: Annotated[
        bool, Option("--strict", help="Exit 1 for a fault that rounding hides, too.")
    ] = False,
    only_given: Annotated[
        bool,
        Option("--only-given", help="Ask about the given inputs alone, not the whole function."),
    ] = False,
    load_flags: LoadFlags,
    format: options.Format = "terminal",  # noqa: A002 - the word on the command line
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Are these two models the same function? If not: where and why.

    Exit codes: 0 the same, 1 divergent, 2 wrong use or unreadable model, 3 unknown, 4 refused.
    """
    from isomorph import api, registry
    from isomorph.cli import project
    from isomorph.cli.output import refuse_page_on_terminal, show_report, show_report_on_interrupt
    from isomorph.cli.progress import Progress
    from isomorph.store.targets import check_target

    reporter = registry.reporter(format)
    looked_at = reporter.profile  # a page shows more than a verdict
    usual = {"align": True if looked_at else None, "profile": looked_at}
    stated = given(
        data=data,
        metric=metric,
        sizes=options.sizes(dims),
        budget=options.budgets(budget),
        strict=strict or None,
        only_given=only_given or None,
        locate=locate,
        align=align,
        quantization=quantization,
        profile=profile,
        baseline=baseline,
        pair=pair,
        **input_flags.options,
        **pair_flags.options,
        **load_flags.options,
    )
    if reference is None or (candidate is None and project.names_pair(reference)):
        return project.run(reference, reporter, output, usual=usual, stated=stated)
    refuse_page_on_terminal(reporter, output)
    check_target(output, reference, candidate, input_flags.inputs, data, load_flags.state)
    with show_report_on_interrupt(reporter, output), Progress() as progress:
        report = api.check(
            reference,
            candidate,
            progress=progress,
            **arguments(api.CheckOptions, {**usual, **stated}),
        )
    show_report(report, reporter, output)
    return report.exit_code

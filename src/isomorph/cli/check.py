"""``isomorph check``: are these two models the same function?"""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.option_groups import (
    CheckFlags,
    InputFlags,
    LoadFlags,
    PairFlags,
    SampleFlags,
    options_of,
)
from isomorph.cli.parameters import Argument
from isomorph.cli.verbosity import VerbosityFlags


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
    sample_flags: SampleFlags,
    pair_flags: PairFlags,
    check_flags: CheckFlags,
    load_flags: LoadFlags,
    verbosity: VerbosityFlags,
    format: options.ReportFormat = None,  # noqa: A002 - the word on the command line
    output: options.Output = None,
    debug: options.Debug = False,
) -> int:
    """Are these two models the same function? If not: where and why.

    Exit codes: 0 the same, 1 divergent, 2 wrong use or unreadable model, 3 unknown, 4 refused,
    70 a proof (--prove) contradicts what was measured: a defect of isomorph.
    """
    from isomorph import api, registry
    from isomorph.cli.command_cost import with_cost_of_command
    from isomorph.cli.contradiction import save_contradiction
    from isomorph.cli.output import (
        refuse_page_on_terminal,
        show_report,
        show_report_on_interrupt,
        show_verdict,
    )
    from isomorph.cli.output_format import format_of
    from isomorph.cli.progress import Progress
    from isomorph.cli.verbosity import adjusted
    from isomorph.store.targets import check_target

    reporter = registry.reporter(format_of(format, output, registry.names("reporters")))
    reporter = adjusted(reporter, verbosity)
    looked_at = reporter.profile  # a page shows more than a verdict
    usual = {"align": True if looked_at else None, "profile": looked_at}
    stated = options_of(input_flags, sample_flags, pair_flags, check_flags, load_flags)
    if candidate is None:
        from isomorph.cli import project

        if reference is None or project.names_pair(reference):
            return project.run(
                reference, reporter, output, usual=usual, stated=stated, quiet=verbosity.quiet
            )
    assert reference is not None
    refuse_page_on_terminal(reporter, output)
    files = (input_flags.inputs, sample_flags.data, load_flags.state)
    check_target(output, reference, candidate, *files)
    with show_report_on_interrupt(reporter, output), Progress() as progress:
        report = api.check(reference, candidate, progress=progress, **{**usual, **stated})
    report = with_cost_of_command(report)
    show_report(report, reporter, output)
    if output is not None:
        show_verdict(report, output, quiet=verbosity.quiet)
    save_contradiction(report)
    return report.exit_code

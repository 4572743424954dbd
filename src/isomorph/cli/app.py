"""The command line: one command per file, gathered here."""

from __future__ import annotations

from typing import Annotated

import typer

from isomorph.cli.accept import accept
from isomorph.cli.check import check
from isomorph.cli.convert import convert
from isomorph.cli.demo import demo
from isomorph.cli.doctor import doctor
from isomorph.cli.explain import explain
from isomorph.cli.extract import extract
from isomorph.cli.fix import fix
from isomorph.cli.inspect import inspect
from isomorph.cli.lint import lint
from isomorph.cli.option_groups import expand_options
from isomorph.cli.report import report
from isomorph.cli.run import run
from isomorph.cli.textwrap import USUAL
from isomorph.cli.trace import trace
from isomorph.cli.view import view
from isomorph.version import VERSION

app = typer.Typer(
    name="isomorph",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": USUAL},
)
for command in (
    check,
    accept,
    fix,
    convert,
    lint,
    run,
    trace,
    extract,
    inspect,
    report,
    view,
    explain,
    doctor,
    demo,
):
    app.command()(expand_options(command))


@app.callback(invoke_without_command=True)
def isomorph(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show a traceback when something fails.")
    ] = False,
) -> int:
    """Is the converted model still the same function? If not: which node, why, what repairs it."""
    if version:
        typer.echo(f"isomorph {VERSION}")
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        # A call without a command is wrong use: show the help and exit 2.
        typer.echo(context.get_help())
        raise typer.Exit(2)
    return 0

"""``isomorph completion``: the words of the command line, for a shell to complete."""

from __future__ import annotations

from typing import Annotated

from isomorph.cli import options
from isomorph.cli.parameters import Argument

SHELLS = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[str, Argument(metavar="SHELL", help="bash, zsh or fish.")],
    *,
    debug: options.Debug = False,
) -> int:
    """Print a script that completes commands, options and files in a shell.

    Write it where the shell looks for it, once for each version of isomorph:

    bash: isomorph completion bash > ~/.local/share/bash-completion/completions/isomorph

    zsh: isomorph completion zsh > DIR/_isomorph, where DIR is in $fpath before compinit runs

    fish: isomorph completion fish > ~/.config/fish/completions/isomorph.fish

    Exit codes: 0 printed, 2 another shell.
    """
    from isomorph.cli.completion_script import script_of
    from isomorph.cli.output import write

    options.require_choice("SHELL", shell, SHELLS)
    write(script_of(shell), None)
    return 0

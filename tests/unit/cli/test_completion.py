"""The command prints the script of the shell that is named."""

import pytest

from isomorph.__main__ import main
from isomorph.cli.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_printed(shell, capsys):
    assert main(["completion", shell]) == 0
    assert f"for {shell}" in capsys.readouterr().out


def test_another_shell_is_wrong_use(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err


def test_no_shell_is_wrong_use(capsys):
    assert main(["completion"]) == 2
    assert "SHELL is missing" in capsys.readouterr().err

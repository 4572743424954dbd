"""The scripts know every command and option, the shells accept them, and bash completes by them."""

import re
import shutil
import subprocess

import pytest

from isomorph.cli.app import COMMANDS, command
from isomorph.cli.completion import SHELLS
from isomorph.cli.completion_script import completed_commands, script_of
from isomorph.cli.parameters import Option, parameters_of

SYNTAX = {"bash": ["-n"], "zsh": ["-n"], "fish": ["--no-execute"]}


@pytest.fixture(scope="module")
def scripts():
    return {shell: script_of(shell) for shell in SHELLS}


def _names(name):
    for parameter in parameters_of(command(name)):
        if isinstance(parameter.declared, Option):
            yield from (*parameter.positive, *parameter.negative)


def _part(script, name, shell):
    """The text of a script about one command."""
    if shell == "fish":
        seen = f'"__fish_seen_subcommand_from {name}"'
        return "\n".join(line for line in script.splitlines() if seen in line)
    _, _, rest = script.partition(f"\n    {name})\n")
    return re.split(r"\n    [a-z*]+\)|\n  esac", rest)[0]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_all_of_its_options(scripts, shell, name):
    part = _part(scripts[shell], name, shell)
    for option in ("--help", *_names(name)):
        if shell == "fish":
            wanted = f"-l {option[2:]} " if option.startswith("--") else f"-s {option[1:]} "
        else:
            wanted = f"{option}[" if shell == "zsh" else option
        assert wanted in f"{part} ", option


def test_the_table_is_that_of_the_parser():
    found = {each.name: each for each in completed_commands()}
    assert list(found) == list(COMMANDS)
    formats = {option.names[0]: option.choices for option in found["lint"].options}["--format"]
    assert formats == ("terminal", "json", "sarif", "github")
    runtimes = {option.names[0]: option for option in found["check"].options}["--runtime"]
    assert "onnxruntime" in runtimes.choices
    assert runtimes.repeated
    assert not any(each.endswith("_oracle") for each in runtimes.choices)
    assert {"attribute", "TIMEOUT"} <= set(found["explain"].words)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_the_script(scripts, shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(scripts[shell], encoding="utf-8")
    done = subprocess.run(
        [program, *SYNTAX[shell], path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


BASH_CASES = {
    "isomorph ch": "check",
    "isomorph --ver": "--version",
    "isomorph --debug expl": "explain",
    "isomorph check --in": "--inputs --in-process",
    "isomorph check --format ju": "junit",
    "isomorph check a.onnx --runtime onnx": "onnxruntime",
    "isomorph check mod": "model a.onnx",
    "isomorph check -o mod": "model a.onnx",
    "isomorph explain attr": "attribute",
    "isomorph explain --schema sw": "sweep.toml",
    "isomorph completion z": "zsh",
    "isomorph nonsense --in": "",
}


def test_bash_completes_commands_options_values_and_files(scripts, tmp_path):
    program = shutil.which("bash")
    if program is None:
        pytest.skip("bash is not installed")
    (tmp_path / "model a.onnx").touch()
    lines = [
        scripts["bash"],
        'try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _isomorph; echo "${COMPREPLY[*]}"; }',
        *(f"try {words}" for words in BASH_CASES),
    ]
    done = subprocess.run(
        [program, "--norc", "-c", "\n".join(lines)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert dict(zip(BASH_CASES, done.stdout.split("\n"), strict=False)) == BASH_CASES

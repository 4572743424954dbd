"""Scripts that complete the command line in bash, zsh and fish, from what the parser reads."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

from isomorph.cli.app import COMMANDS, command, isomorph
from isomorph.cli.parameters import Argument, Option, Parameter, parameters_of
from isomorph.cli.parser import HELP

_HELP_TEXT = "Show the help and exit."


class CompletedOption(NamedTuple):
    """One option: its names, what its value may be, and its help."""

    names: tuple[str, ...]
    takes_value: bool
    choices: tuple[str, ...]
    """The values that are known; empty where it is any text, or a file."""
    repeated: bool
    help: str


class CompletedCommand(NamedTuple):
    """One command with its options; ``words`` are what its argument may be instead of a file."""

    name: str
    help: str
    options: tuple[CompletedOption, ...]
    words: tuple[str, ...]


def script_of(shell: str) -> str:
    """The script for one of the shells."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](list(completed_commands()))


def completed_commands() -> Iterator[CompletedCommand]:
    """Every command with everything that its parser knows."""
    for name, described in COMMANDS.items():
        yield CompletedCommand(
            name, described, _options(parameters_of(command(name)), name), _argument_words(name)
        )


def _options(parameters: Sequence[Parameter], name: str) -> tuple[CompletedOption, ...]:
    found = [
        CompletedOption(
            (*parameter.positive, *parameter.negative),
            parameter.kind is not bool,
            _choices(name, parameter),
            parameter.several,
            parameter.declared.help,
        )
        for parameter in parameters
        if isinstance(parameter.declared, Option)
    ]
    return (*found, CompletedOption(HELP, False, (), False, _HELP_TEXT))


def _choices(name: str, parameter: Parameter) -> tuple[str, ...]:
    """The words that the value of an option may be, where they are known."""
    from isomorph import registry
    from isomorph.cli.explain import SCHEMAS

    if "--format" in parameter.positive:
        known = getattr(import_module(f"isomorph.cli.{name}"), "FORMATS", None)
        return tuple(known or registry.names("reporters"))
    if "--runtime" in parameter.positive:
        return tuple(each for each in registry.names("runtimes") if not each.endswith("_oracle"))
    return SCHEMAS if "--schema" in parameter.positive else ()


def _argument_words(name: str) -> tuple[str, ...]:
    """What stands in the place of a file, for the commands that take none."""
    from isomorph import registry
    from isomorph.cli.completion import SHELLS
    from isomorph.diagnose.explain import codes

    words = [
        each.declared.metavar
        for each in parameters_of(command(name))
        if isinstance(each.declared, Argument)
    ]
    if name == "explain":
        return (*registry.names("causes"), *sorted(codes()))
    return SHELLS if words == ["SHELL"] else ()


def _global_options() -> tuple[CompletedOption, ...]:
    return _options(parameters_of(isomorph), "")


def _names(options: Sequence[CompletedOption], gap: str = " ") -> str:
    return gap.join(name for each in options for name in each.names)


def _bash(commands: Sequence[CompletedCommand]) -> str:
    cases = []
    for each in commands:
        lines = [f"    {each.name})", f'      options="{_names(each.options)}"']
        lines.append(f'      words="{" ".join(each.words)}"')
        lines.append('      case "$before" in')
        free = [option for option in each.options if option.takes_value and not option.choices]
        if free:
            lines.append(f'        {_names(free, "|")}) words=""; value=1;;')
        for option in each.options:
            if option.choices:
                names, known = "|".join(option.names), " ".join(option.choices)
                lines.append(f'        {names}) words="{known}"; value=1;;')
        cases.append("\n".join([*lines, "      esac;;"]))
    return _BASH.format(
        commands=" ".join(each.name for each in commands),
        options=_names(_global_options()),
        cases="\n".join(cases),
    )


# Without mapfile and compopt where they may be missing: the bash of macOS is 3.2.
_BASH = """\
# Completion of isomorph for bash: ~/.local/share/bash-completion/completions/isomorph
_isomorph() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="" options="" words="" value="" place=1 IFS=$' \\t\\n'
  COMPREPLY=()
  while [ "$place" -lt "$COMP_CWORD" ]; do
    case "${{COMP_WORDS[place]}}" in
      -*) ;;
      *) command="${{COMP_WORDS[place]}}"; break;;
    esac
    place=$((place + 1))
  done
  case "$command" in
    "")
      words="{commands}"; options="{options}"; value="";;
{cases}
    *) return 0;;
  esac
  if [ -z "$value" ] && [ "${{word#-}}" != "$word" ]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$word"))
    compopt -o filenames 2>/dev/null
  fi
}}
complete -F _isomorph isomorph
"""


def _zsh(commands: Sequence[CompletedCommand]) -> str:
    described = "\n".join(
        f"    {shlex.quote(f'{each.name}:{_plain(each.help)}')}" for each in commands
    )
    cases = "\n".join(_zsh_case(each) for each in commands)
    options = " ".join(name for each in _global_options() for name in each.names)
    return _ZSH.format(described=described, cases=cases, options=options)


_ZSH = """\
#compdef isomorph
# Completion of isomorph for zsh: a file _isomorph in a folder of $fpath
_isomorph() {{
  local -a commands
  commands=(
{described}
  )
  local place=2
  while (( place < CURRENT )) && [[ "$words[place]" == -* ]]; do (( place++ )); done
  if (( place >= CURRENT )); then
    if [[ "$PREFIX" == -* ]]; then
      compadd -- {options}
    else
      _describe command commands
    fi
    return
  fi
  local name="$words[place]"
  shift $(( place - 1 )) words
  (( CURRENT -= place - 1 ))
  case "$name" in
{cases}
  esac
}}
if [ "$funcstack[1]" = "_isomorph" ]; then
  _isomorph "$@"
else
  compdef _isomorph isomorph
fi
"""


def _zsh_case(each: CompletedCommand) -> str:
    specs = [shlex.quote(spec) for option in each.options for spec in _zsh_specs(option)]
    words = f"({' '.join(each.words)})" if each.words else "_files"
    specs.append(shlex.quote(f"*:word:{words}"))
    listed = " \\\n        ".join(specs)
    return f"    {each.name})\n      _arguments \\\n        {listed};;"


def _zsh_specs(option: CompletedOption) -> Iterator[str]:
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
    # Names of one option exclude each other, unless it may be repeated.
    head = "*" if option.repeated else f"({' '.join(option.names)})"
    for name in option.names:
        yield f"{head}{name}[{_bracketed(option.help)}]{value}"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _bracketed(text: str) -> str:
    """The help as a specification of ``_arguments`` takes it."""
    return _plain(text).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _fish(commands: Sequence[CompletedCommand]) -> str:
    names = " ".join(each.name for each in commands)
    lines = [
        "# Completion of isomorph for fish: ~/.config/fish/completions/isomorph.fish",
        f"set -l commands {names}",
    ]
    none = '"not __fish_seen_subcommand_from $commands"'
    lines += [_fish_option(each, none) for each in _global_options()]
    for each in commands:
        text = _fish_quoted(each.help)
        lines.append(f"complete -c isomorph -n {none} -f -a {each.name} -d {text}")
        seen = f'"__fish_seen_subcommand_from {each.name}"'
        if each.words:
            listed = _fish_quoted(" ".join(each.words))
            lines.append(f"complete -c isomorph -n {seen} -f -a {listed}")
        lines += [_fish_option(option, seen) for option in each.options]
    return "\n".join(lines) + "\n"


def _fish_option(option: CompletedOption, condition: str) -> str:
    words = [f"complete -c isomorph -n {condition}"]
    words += [f"-l {each[2:]}" if each[1] == "-" else f"-s {each[1:]}" for each in option.names]
    if option.choices:
        words.append(f"-x -a {_fish_quoted(' '.join(option.choices))}")
    elif option.takes_value:
        words.append("-r -F")
    return " ".join([*words, "-d", _fish_quoted(option.help)])


def _fish_quoted(text: str) -> str:
    escaped = _plain(text).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

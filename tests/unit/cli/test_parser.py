from pathlib import Path
from typing import Annotated

import pytest

from isomorph.cli.app import COMMANDS, app, command
from isomorph.cli.help_text import command_help
from isomorph.cli.parameters import Argument, Option, parameters_of
from isomorph.cli.parser import HelpAsked, parse
from isomorph.core.errors import UsageError


def example(
    model: Annotated[str, Argument(metavar="MODEL", help="The model.")],
    other: Annotated[str | None, Argument(metavar="OTHER", help="Another.")] = None,
    *,
    seed: Annotated[int | None, Option("--seed", min=0, max=9, help="A seed.")] = None,
    budget: Annotated[float, Option("--budget", help="A budget.")] = 0.5,
    names: Annotated[list[str] | None, Option("--name", metavar="NAME", help="Names.")] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="A file.")] = None,
    locate: Annotated[bool | None, Option("--locate/--no-locate", help="Or not.")] = None,
    strict: Annotated[bool, Option("--strict", help="More.")] = False,
) -> int:
    """One sentence.

    Another paragraph.
    """
    return 0


def read(*words):
    found = parse(words, parameters_of(example), program="isomorph example")
    return {name: value for name, value in found.items() if value != DEFAULTS.get(name)}


DEFAULTS = {
    "other": None, "seed": None, "budget": 0.5, "names": None, "output": None,
    "locate": None, "strict": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["m"], {}),
        (["m", "o"], {"other": "o"}),
        (["--seed", "3", "m"], {"seed": 3}),
        (["m", "--seed=3", "o"], {"seed": 3, "other": "o"}),
        (["m", "--budget", "-1e-3"], {"budget": -1e-3}),
        (["m", "--name", "a", "--name=b=c"], {"names": ["a", "b=c"]}),
        (["m", "-o", "f"], {"output": Path("f")}),
        (["m", "-of"], {"output": Path("f")}),
        (["m", "--output", "a", "-o", "b"], {"output": Path("b")}),
        (["m", "--locate"], {"locate": True}),
        (["m", "--locate", "--no-locate"], {"locate": False}),
        (["m", "--strict"], {"strict": True}),
        (["m", "--", "--strict"], {"other": "--strict"}),
        (["m", "-"], {"other": "-"}),
        (["m", "--name", "--help"], {"names": ["--help"]}),
    ],
)
def test_words_become_arguments(words, found):
    assert read(*words) == {"model": "m"} | found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "MODEL is missing"),
        (["m", "o", "x", "y"], "too many arguments: x y"),
        (["m", "--sed", "1"], "there is no option --sed"),
        (["m", "--see"], "there is no option --see"),
        (["m", "-x"], "there is no option -x"),
        (["m", "--seed"], "option --seed needs a value"),
        (["m", "--seed", "one"], "--seed 'one' is not an integer"),
        (["m", "--seed", "-1"], "--seed '-1' is not between 0 and 9"),
        (["m", "--seed", "10"], "--seed '10' is not between 0 and 9"),
        (["m", "--budget", "x"], "--budget 'x' is not a number"),
        (["m", "--strict=yes"], "option --strict takes no value"),
        (["m", "--help=1"], "option --help takes no value"),
        (["m", "-hx"], "option -h takes no value"),
    ],
)
def test_wrong_words_are_named(words, message):
    with pytest.raises(UsageError) as raised:
        read(*words)
    assert raised.value.sentence == message
    assert "isomorph example --help" in raised.value.fix


def test_a_similar_option_is_named():
    with pytest.raises(UsageError) as raised:
        read("m", "--sed", "1")
    assert raised.value.fix == "did you mean --seed? isomorph example --help lists all"


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_needs_nothing_else(word):
    with pytest.raises(HelpAsked):
        read(word)


def test_the_help_shows_every_parameter(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    text = command_help("example", example.__doc__, parameters_of(example))
    assert (
        text
        == """\
Usage: isomorph example [OPTIONS] MODEL [OTHER]

  One sentence.

  Another paragraph.

Arguments:
  MODEL  The model.
  OTHER  Another.

Options:
  --seed <int>            A seed. [from 0 to 9]
  --budget <float>        A budget. [default: 0.5]
  --name NAME             Names.
  -o, --output <path>     A file.
  --locate / --no-locate  Or not.
  --strict                More.
  -h, --help              Show this message and exit."""
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_has_the_first_sentence_of_every_command(name, capsys):
    first = " ".join(command(name).__doc__.partition("\n\n")[0].split())
    assert first.startswith(COMMANDS[name])
    assert app([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: isomorph {name} [OPTIONS]")


def test_every_file_with_a_command_is_listed():
    folder = Path(app.__code__.co_filename).parent
    holding = {path.stem for path in folder.glob("*.py") if f"def {path.stem}(" in path.read_text()}
    assert holding - {"app", "provider_code"} == set(COMMANDS)


def test_the_version_needs_no_command(capsys):
    assert app(["--version"]) == 0
    assert capsys.readouterr().out.startswith("isomorph ")

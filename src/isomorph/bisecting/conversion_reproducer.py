"""A folder that shows how two releases convert one model, and how to convert and check it again."""

from __future__ import annotations

import filecmp
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.bisecting.environments import Ended
from isomorph.bisecting.reproducer import copied
from isomorph.conversion.convert import weights_beside
from isomorph.core.bisection import Trial
from isomorph.core.converter_abilities import OPSET, WritesConversion
from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.store.atomic import new_folder
from isomorph.store.input_files import write_arrays

if TYPE_CHECKING:
    from isomorph.conversion.converter_worker import Attempt
    from isomorph.core.conversion import Route
    from isomorph.core.model import Model
    from isomorph.core.trace import Array

PROGRAM = "convert.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """One release, its verdict, and what its conversion wrote, if anything."""

    trial: Trial
    attempt: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionChange:
    """Two neighboring releases whose results have different verdicts, and how they were asked."""

    package: str
    python: str
    route: Route
    at: int
    """The step of the route that these releases made; the others were made here."""
    options: Mapping[str, str]
    words: Sequence[str]
    """The words of the command line that repeat the check."""
    before: Converted
    after: Converted


def write_conversions(
    folder: Path,
    change: ConversionChange,
    model: Model,
    samples: Mapping[str, Mapping[str, Array]],
    run: Callable[[Sequence[str]], Ended],
) -> None:
    """The model, both results, the inputs, what makes the environments, and how to go on.

    Where the converter's call can be written plainly, ``convert.py`` is run in both environments,
    and kept if it writes the same bytes that were checked.
    """
    with new_folder(folder) as made:
        source = copied(model, made, made)
        for word, arrays in samples.items():
            write_arrays(made / f"inputs-{word}.npz", arrays)
        for side, converted in (("before", change.before), ("after", change.after)):
            _write_requirements(made / f"requirements-{side}.txt", converted.trial)
        printed = _run_program(made, change, source, run)
        results = [_result(made, change, each) for each in (change.before, change.after)]
        text = _readme(change, source, results, printed)
        (made / "README.md").write_text(text, encoding="utf-8")


def _write_requirements(path: Path, trial: Trial) -> None:
    lines = sorted(f"{name}=={version}\n" for name, version in trial.packages.items())
    path.write_text("".join(lines), encoding="utf-8")


def _run_program(
    folder: Path, change: ConversionChange, source: str, run: Callable[[Sequence[str]], Ended]
) -> list[str]:
    """What the plain program printed in both environments; nothing where it is not kept."""
    converter = registry.converter(change.route.steps[0].converter)
    ends = (change.before, change.after)
    plain = len(change.route.steps) == 1 and (folder / source).exists()
    if not plain or not isinstance(converter, WritesConversion):
        return []
    path = (folder / PROGRAM).absolute()
    path.write_text(_program(change, source, converter.conversion_lines(change.options)), "utf-8")
    printed, same = [], True
    for each in ends:
        ended = run([each.trial.interpreter, str(path)])
        printed.append((ended.output + ended.errors).strip())
        written = folder / _name(change, each)
        failed = each.attempt.trouble is not None
        same &= failed if ended.exit_code != 0 else (
            written.is_file() and not failed
            and filecmp.cmp(written, each.attempt.path, shallow=False)
        )  # fmt: skip
    if not same:
        for place in (path, *(folder / _name(change, each) for each in ends)):
            place.unlink(missing_ok=True)
        return []
    return printed


def _program(change: ConversionChange, source: str, lines: Sequence[str]) -> str:
    suffix = registry.converter(change.route.steps[0].converter).suffix
    return "\n".join([
        f'"""Convert {printable(source)} with {change.package}, and nothing of isomorph."""',
        "",
        "from importlib.metadata import version",
        "from pathlib import Path",
        "",
        "folder = Path(__file__).resolve().parent",
        f"release = version({change.package!r})",
        f"source = str(folder / {source!r})",
        f'target = str(folder / f"{_stem(change)}{{release}}{suffix}")',
        *lines,
        f'print("{change.package}", release, "wrote", Path(target).name)',
        "",
    ])  # fmt: skip


def _stem(change: ConversionChange) -> str:
    return f"by-{change.package}-"


def _name(change: ConversionChange, converted: Converted) -> str:
    suffix = registry.converter(change.route.steps[-1].converter).suffix
    return f"{_stem(change)}{converted.trial.point}{suffix}"


def _result(folder: Path, change: ConversionChange, converted: Converted) -> str:
    """The name of what a release wrote, copied to the folder; empty where it wrote nothing."""
    made = converted.attempt.path
    if converted.attempt.trouble is not None:
        return ""
    name = _name(change, converted)
    if made.is_dir():
        shutil.copytree(made, folder / name)
        return name
    beside = weights_beside(made)
    if not beside:
        shutil.copyfile(made, folder / name)
        return name
    # Weights beside a file are found by their names, which both results may share.
    place = folder / Path(name).stem
    place.mkdir()
    for each in (made, *beside):
        shutil.copyfile(each, place / each.name)
    return f"{place.name}/{made.name}"


def _readme(
    change: ConversionChange, source: str, results: Sequence[str], printed: Sequence[str]
) -> str:
    package, point = change.package, change.after.trial.point
    ends = (change.before, change.after)
    lines = [
        "# " + message("README.conversion_title", package=package, point=point),
        "",
        f"| {package} | {message('README.verdict_of_result')} | {message('README.file')} |",
        "| --- | --- | --- |",
        *(
            f"| {each.trial.point} | {printable(each.trial.headline)} | {name or 'none'} |"
            for each, name in zip(ends, results, strict=True)
        ),
        "",
        message(
            "README.conversion_route",
            route=change.route.words,
            converter=change.route.steps[change.at].converter,
        ),
        "",
    ]
    failed = [each for each in ends if each.attempt.trouble is not None]
    lines += [
        message(
            "README.conversion_failed",
            point=each.trial.point,
            reason=printable(each.trial.reason),
        )
        + "\n"
        for each in failed
    ]
    lines += [message("README.environments"), "", "```"]
    for word in ("before", "after"):
        lines += [
            f"python{change.python} -m venv {word}",
            f"{word}/bin/python -m pip install -r requirements-{word}.txt",
        ]
    lines += ["```", ""]
    if printed:
        lines += [
            message("README.conversion_run", program=PROGRAM),
            "",
            "```",
            *(f"{word}/bin/python {PROGRAM}" for word in ("before", "after")),
            "```",
            "",
            message("README.printed"),
            "",
        ]
        for text in printed:
            lines += ["```", *text.splitlines(), "```", ""]
    else:
        lines += [message("README.conversion_here"), "", "```"]
        lines += [_convert_command(change, source), "```", ""]
    lines += [message("README.conversion_check"), "", "```"]
    lines += [
        shlex.join(["isomorph", "check", source, name, *change.words]) for name in results if name
    ]
    return "\n".join([*lines, "```", ""])


def _convert_command(change: ConversionChange, source: str) -> str:
    last = change.route.steps[-1]
    suffix = registry.converter(last.converter).suffix
    via = ",".join(step.converter for step in change.route.steps)
    words = ["isomorph", "convert", source, f"converted{suffix}", "--to", last.target]
    words += ["--via", via, "--keep"]
    words += ["--quantize", last.width] if last.width else []
    words += ["--opset", change.options[OPSET]] if OPSET in change.options else []
    return shlex.join(words)

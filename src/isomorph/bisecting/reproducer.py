"""A folder that shows a change between two releases without isomorph."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.bisecting.environments import Ended
from isomorph.core.bisection import Trial
from isomorph.core.escaping import printable
from isomorph.core.extraction import WritesScript
from isomorph.core.messages import message
from isomorph.core.protocols import HasSidecarFiles
from isomorph.reporters.release_script import release_script
from isomorph.store.atomic import new_folder
from isomorph.store.input_files import write_arrays

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Array

_PROGRAM = "run.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Two neighboring releases with different verdicts, and how they were asked for."""

    package: str
    runtime: str
    settings: Mapping[str, str]
    before: Trial
    after: Trial
    python: str
    side: str
    options: Sequence[str]
    """The words of the command line that the check was asked for with, besides the runtime."""


def write_reproducer(
    folder: Path,
    change: Change,
    models: Mapping[str, Model],
    samples: Mapping[str, Mapping[str, Array]],
    run: Callable[[Sequence[str]], Ended],
) -> None:
    """The models, the inputs, a plain program, what it prints in both releases, and how to run it.

    ``models`` are by side. The program is run in both environments: the folder shows what it
    claims.
    """
    with new_folder(folder) as made:
        names = {
            side: copied(model, made if side == change.side else made / side, made)
            for side, model in models.items()
        }
        for word, arrays in samples.items():
            write_arrays(made / f"inputs-{word}.npz", arrays)
        program = _program(change, models[change.side], names[change.side])
        printed = []
        if program and samples:
            (made / _PROGRAM).write_text(program, encoding="utf-8")
            for trial in (change.before, change.after):
                ended = run([trial.interpreter, str((made / _PROGRAM).absolute())])
                printed.append((ended.output + ended.errors).strip())
        text = _readme(change, list(names.values()), printed)
        (made / "README.md").write_text(text, encoding="utf-8")


def _program(change: Change, model: Model, file: str) -> str:
    """The plain program for the side that runs in the releases; empty where there is none."""
    runtime = registry.runtime(change.runtime)
    if not isinstance(runtime, WritesScript) or not Path(model.location).exists():
        return ""
    source = runtime.script_source(model, change.settings)
    inputs, outputs = ([spec.name for spec in specs]
                       for specs in (model.graph.inputs, model.graph.outputs))  # fmt: skip
    if source is None or (len(outputs) != 1 and not source.names_output):
        return ""
    return release_script(file, source, inputs, outputs)


def copied(model: Model, folder: Path, home: Path) -> str:
    """The model and the files that belong to it, under the names by which it finds them."""
    source = Path(model.location)
    if not source.exists():
        return model.location  # a factory
    folder.mkdir(exist_ok=True)
    name = (folder / source.name).relative_to(home).as_posix()
    if source.is_dir():
        shutil.copytree(source, folder / source.name)
        return name
    framework = registry.framework(model.framework)
    beside = framework.sidecar_files(source) if isinstance(framework, HasSidecarFiles) else ()
    shutil.copyfile(source, folder / source.name)
    for each in beside:
        place = folder / each.relative_to(source.parent)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(each, place)
    return name


def _readme(change: Change, models: Sequence[str], printed: Sequence[str]) -> str:
    before, after, package = change.before, change.after, change.package
    lines = [
        "# " + message("README.release_title", package=package, point=after.point),
        "",
        f"| {package} | {message('README.verdict')} |",
        "| --- | --- |",
        *(f"| {each.point} | {printable(each.headline)} |" for each in (before, after)),
        "",
        message("README.environments"),
        "",
        "```",
    ]
    for word, trial in (("before", before), ("after", after)):
        numpy = trial.packages.get("numpy", "")
        pinned = f" numpy=={numpy}" if numpy else ""
        lines += [
            f"python{change.python} -m venv {word}",
            f"{word}/bin/python -m pip install {package}=={trial.point}{pinned}",
        ]
    lines += ["```", ""]
    if printed:
        lines += [
            message("README.release_run", program=_PROGRAM, package=package),
            "",
            "```",
            *(f"{word}/bin/python {_PROGRAM}" for word in ("before", "after")),
            "```",
            "",
            message("README.printed"),
            "",
        ]
        for text in printed:
            lines += ["```", *text.splitlines(), "```", ""]
    runtime = f"--runtime={change.side}={change.runtime}@after"
    lines += [message("README.release_check"), "", "```"]
    lines += [shlex.join(["isomorph", "check", *models, runtime, *change.options]), "```", ""]
    return "\n".join(lines)

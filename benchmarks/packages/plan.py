"""Which questions there are: each file alone, beside its other forms, and converted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.packages.asking import Question
from benchmarks.packages.catalog import Package
from benchmarks.packages.fetching import models, size

FRAMEWORKS = {
    ".onnx": "onnx", ".tflite": "tflite", ".keras": "tensorflow", ".h5": "tensorflow",
    ".hdf5": "tensorflow", "": "tensorflow", ".pt": "pytorch", ".pt2": "pytorch",
}  # fmt: skip
ENDINGS = {"onnx": ".onnx", "tflite": ".tflite", "openvino": ".xml"}
CALIBRATED = frozenset({"int8", "int16x8"})
_SAMPLES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One model of an unpacked package; ``name`` is its path in the package."""

    package: Package
    folder: Path
    path: Path

    @property
    def name(self) -> str:
        """Its path in the package."""
        return self.path.relative_to(self.folder).as_posix()

    def question(self, route: str, *words: str | Path) -> Question:
        """``isomorph WORDS`` about this file."""
        return Question(
            package=self.package.name, version=self.package.version, file=self.name, route=route,
            size=size(self.path), words=words,
        )  # fmt: skip


def model_files(package: Package, folder: Path) -> list[ModelFile]:
    """Every model of an unpacked package."""
    return [
        ModelFile(package=package, folder=folder, path=path) for path in models(package, folder)
    ]


def checks(files: Sequence[ModelFile]) -> list[Question]:
    """Each file alone, the smallest first."""
    questions = [each.question("check", "check", each.path) for each in files]
    return sorted(questions, key=lambda each: each.size)


def comparisons(files: Sequence[ModelFile]) -> Iterator[Question]:
    """Each pair of files that hold one net."""
    for package in dict.fromkeys(each.package for each in files):
        own = [each for each in files if each.package == package]
        for one, other in package.pairs:
            sides = [_ending(own, one), _ending(own, other)]
            reference, candidate = sides
            if reference is not None and candidate is not None:
                route = f"against {Path(one).name}"
                yield candidate.question(route, "check", reference.path, candidate.path)


def _ending(files: Sequence[ModelFile], end: str) -> ModelFile | None:
    return next((each for each in files if each.path.as_posix().endswith(end)), None)


def conversions(files: Sequence[ModelFile]) -> list[Question]:
    """Each file to every format and width that a route leads to: width by width, small ones first.

    The command lacks its target, which ``with_target`` adds.
    """
    from isomorph.core.conversion import AS_IS, WIDTHS

    widths = (AS_IS, *WIDTHS)
    found: list[tuple[int, Question]] = []
    for each in files:
        for target, width in targets(FRAMEWORKS[each.path.suffix]):
            words = ["convert", each.path, "--to", target]
            words += ["--quantize", width] if width else []
            question = each.question(f"{target} {width}".strip(), *words)
            found.append((widths.index(width), question))
    return [question for _, question in sorted(found, key=lambda pair: (pair[0], pair[1].size))]


def targets(framework: str) -> list[tuple[str, str]]:
    """Every format and width that a route leads to."""
    from isomorph.conversion.plan import formats, routes
    from isomorph.core.conversion import AS_IS, WIDTHS
    from isomorph.core.errors import UsageError

    found = []
    for target in formats():
        for width in (AS_IS, *WIDTHS):
            if target == framework and width == AS_IS:
                continue
            try:
                routes(framework, target, width)
            except UsageError:
                continue
            found.append((target, width))
    return found


def with_target(question: Question, made: Path, samples: Path) -> Question | None:
    """The conversion with the file it writes, and samples where it is calibrated.

    ``None`` where no samples can be made.
    """
    verb, source, *words = question.words
    target, _, width = question.route.partition(" ")
    result = made / f"{target}-{width or 'same'}{ENDINGS.get(target, '')}"
    if width in CALIBRATED:
        if not samples.is_dir() and not _made_up(Path(source), samples):
            return None
        words += ["--data", samples]
    return replace(question, words=(verb, source, result, *words))


def _made_up(source: Path, folder: Path) -> bool:
    """Samples to calibrate on, enough for a benchmark; False where none can be made."""
    from isomorph.api.environment import open_loader
    from isomorph.core.errors import IsomorphError
    from isomorph.inputs.generated_samples import generated_samples
    from isomorph.store.input_files import write_arrays

    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        with open_loader(in_process=False) as opener:
            opened = opener.open("candidate", str(source))
            for seed in range(_SAMPLES):
                feeds = generated_samples(opened, opened.model.graph, (), {}, seed)[0].feeds
                write_arrays(part / f"{seed}.npz", feeds)
    except IsomorphError:
        return False
    part.rename(folder)
    return True

"""Read many samples from a folder or a file, one at a time, to save memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.coverage import InputKind
from isomorph.core.errors import IsomorphError, RefusedError, UsageError
from isomorph.core.not_done import not_done
from isomorph.core.report import Skipped
from isomorph.core.system_memory import default_worker_memory
from isomorph.inputs import feeds as feeding
from isomorph.inputs.feeds import Sample
from isomorph.inputs.sample_batching import slices
from isomorph.store.input_files import read_arrays
from isomorph.store.safe_paths import kind_of

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.trace import Array

SUFFIXES = (".npz", ".npy", ".safetensors")
_SHARE_OF_MEMORY = 8
"""An archive beyond this part of the memory is mapped instead of read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One sample with all arrays of its file, including those that are no inputs."""

    sample: Sample
    arrays: Mapping[str, Array]
    repeats: bool = False
    """Whether it repeats rows of an earlier sample, to fill the last batch."""


@dataclass(slots=True, kw_only=True)
class DataSet:
    """A folder of files, or one file; ``spare`` allows arrays that no input takes."""

    location: Path
    files: tuple[Path, ...]
    folder: bool
    memory: int
    spare: bool = False
    left_over: dict[str, int] = field(default_factory=dict)

    def samples(self, specs: Sequence[TensorSpec], dims: Mapping[str, int]) -> Iterator[Drawn]:
        """Yield every sample in the order of the file names, fitted to the model's inputs."""
        for place, path in enumerate(self.files):
            try:
                yield from self._of_file(path, specs, dims)
            except (UsageError, RefusedError) as error:
                raise self._named(error, place) from error

    def skipped(self) -> tuple[Skipped, ...]:
        """Return the rows that fill no batch of the model, after all samples were read."""
        return tuple(
            not_done("rows", count=rows, name=name) for name, rows in self.left_over.items()
        )

    def _of_file(
        self, path: Path, specs: Sequence[TensorSpec], dims: Mapping[str, int]
    ) -> Iterator[Drawn]:
        most = self.memory // _SHARE_OF_MEMORY
        arrays = dict(feeding.named(specs, read_arrays(path, most_bytes=most)))
        cut = slices(specs, arrays, dims, streamed=not self.folder)
        if cut.left_over and cut.feeds == cut.count:
            self.left_over[path.name] = cut.left_over
        inputs = {spec.name for spec in specs}
        for index in range(cut.feeds):
            feed = cut.feed(arrays, index)
            given = {name: feed[name] for name in feed if name in inputs or not self.spare}
            name = path.name if cut.feeds == 1 else f"{path.name}[{index}]"
            sample = Sample(
                origin=name, feeds=feeding.from_given(specs, given), kind=InputKind.TEST_SET
            )
            yield Drawn(sample=sample, arrays=feed, repeats=index >= cut.count)

    def _named(self, error: IsomorphError, place: int) -> IsomorphError:
        """Return the same error with its file and the position of the file."""
        position = f"file {place + 1} of {len(self.files)}"
        return type(error)(
            error.code,
            error.phrase,
            file=error.file or str(self.files[place]),
            where=f"{position}, {error.where}" if error.where else position,
            why=error.why,
            fix=error.fix,
        )


def data_set(path: Path, *, memory: int | None = None, spare: bool = False) -> DataSet:
    """Open a folder with files of arrays, or one such file."""
    folder = kind_of(path, error=UsageError) == "folder"
    files = sorted(_files(path), key=lambda each: each.name) if folder else [path]
    if not files:
        raise UsageError(
            "NO_SAMPLES",
            "the folder holds no samples",
            file=str(path),
            why=f"a sample is a file ending in {', '.join(SUFFIXES)}",
        )
    return DataSet(
        location=path,
        files=tuple(files),
        folder=folder,
        memory=memory or default_worker_memory(),
        spare=spare,
    )


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        hidden = path.name.startswith(".")
        if not hidden and path.suffix.lower() in SUFFIXES and path.is_file():
            yield path

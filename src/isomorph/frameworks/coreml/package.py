"""Opening a Core ML model: a package with a manifest, or a single .mlmodel file.

Every path that a manifest or a program states stays inside the package.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from isomorph.core.errors import RefusedError, UnreadableModelError, listed
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.coreml.blobs import BlobFile
from isomorph.frameworks.coreml.parse import (
    ML_PROGRAM,
    OLD_FORMATS,
    Specification,
    parse,
    top_fields,
)
from isomorph.frameworks.coreml.program import Array, MilProgram, MilValue, operations
from isomorph.store.protobuf import BYTES, VARINT
from isomorph.store.safe_paths import LeadsOutError, not_regular, path_inside, require_file

MANIFEST = "Manifest.json"
_USUAL_SPECIFICATION = "Data/com.apple.CoreML/model.mlmodel"
_ROOT = "@model_path/"
_NEWEST = 100
"""Far above every version of a specification; ONNX files begin with a small number, too."""


def looks_like_package(path: Path) -> bool:
    """Whether a folder has the manifest of a Core ML package, or its specification without it."""
    manifest = path / MANIFEST
    if not manifest.is_file():
        return (path / _USUAL_SPECIFICATION).is_file()
    with manifest.open("rb") as stream:
        return b'"rootModelIdentifier"' in stream.read(1 << 20)


def looks_like_specification(head: bytes) -> bool:
    """Whether the first bytes are those of a specification, of an ML program or an older model."""
    first, kinds = True, {ML_PROGRAM, *OLD_FORMATS}
    for each in top_fields(head):
        if first and (each.number, each.wire) != (1, VARINT):
            return False
        if first and not 0 < each.value < _NEWEST:
            return False
        first = False
        if each.number in kinds and each.wire == BYTES:
            return True
        if each.number not in (1, 2, 10):
            return False
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedModel:
    """A program with the digest of all files that it consists of."""

    program: MilProgram
    digest: str


def open_model(path: Path, *, trusted: bool = False) -> OpenedModel:
    """Read the specification of a package or file; weights are read when somebody wants them."""
    specification = _specification_file(path, trusted=trusted) if path.is_dir() else path
    require_file(specification)
    data = specification.read_bytes()
    if not data:
        raise UnreadableModelError("MODEL_EMPTY", "the file is empty:", file=str(specification))
    parsed = parse(data, file=str(path))
    program = _program(parsed, data, path)
    files = _Files(specification.parent, str(path), trusted=trusted)
    names = {
        value.file
        for each in operations(program.block)
        for value in (*each.attributes.values(), *_given(each.inputs))
        if value.file
    }
    found = {name: files.find(name) for name in sorted(names)}
    digest = hashlib.sha256(data)
    for weights in found.values():
        with weights.open("rb") as stream:
            while piece := stream.read(1 << 22):
                digest.update(piece)
    whole = replace(
        program, read=files.array, path=path, specification=specification, weights=found
    )
    return OpenedModel(program=whole, digest=digest.hexdigest())


def reparsed(program: MilProgram, data: bytes) -> MilProgram:
    """The program with another specification, and everything else as it was."""
    file = str(program.path)
    return replace(
        _program(parse(data, file=file), data, Path(file)),
        read=program.read,
        path=program.path,
        specification=program.specification,
        weights=program.weights,
    )


def _given(inputs: Mapping[str, tuple[str | MilValue, ...]]) -> Iterator[MilValue]:
    for values in inputs.values():
        yield from (each for each in values if isinstance(each, MilValue))


def _program(parsed: Specification, data: bytes, path: Path) -> MilProgram:
    if ML_PROGRAM not in parsed.kinds:
        kind = next((OLD_FORMATS[each] for each in parsed.kinds if each in OLD_FORMATS), "no model")
        raise UnreadableModelError(
            "UNSUPPORTED_FORMAT",
            f"this Core ML file holds {kind}, and no ML program:",
            file=str(path),
            why="its operators have other definitions, and isomorph reads ML programs alone",
            fix='convert the model again with convert_to="mlprogram"',
        )
    names = tuple(parsed.functions)
    name = parsed.default_function or ("main" if "main" in names or not names else names[0])
    if name not in parsed.functions:
        raise UnreadableModelError(
            "INVALID_GRAPH", f"the ML program has no function {name!r}:", file=str(path),
            why=f"it has: {listed(names) or 'none'}",
        )  # fmt: skip
    function = parsed.functions[name]
    made = set(function.block.outputs)
    # The description lists the outputs in the order of the source, the block as it likes.
    order = [each for each in parsed.outputs if each in made]
    order += [each for each in function.block.outputs if each not in order]
    notes = []
    if len(names) > 1:
        others = listed([each for each in names if each != name])
        notes.append(f"the file has further functions ({others}); the one compared is {name!r}")
    if parsed.images:
        notes.append(
            f"images are compared as tensors of their pixel values: {listed(parsed.images)}"
        )
    return MilProgram(
        function=name,
        opset=function.opset,
        version=parsed.version,
        inputs=function.inputs,
        outputs=tuple(order),
        block=function.block,
        data=data,
        read=_nothing,
        metadata=parsed.metadata,
        notes=tuple(notes),
    )


def _nothing(value: MilValue) -> Array:
    raise LookupError(value.file)


def _specification_file(package: Path, *, trusted: bool) -> Path:
    """The model file that the manifest of a package names."""
    file = str(package)
    if not (package / MANIFEST).exists():
        raise UnreadableModelError(
            "INVALID_GRAPH", f"the package has no {MANIFEST}:", file=file,
            why="it states which of its files is the model", fix="copy the whole package again",
        )  # fmt: skip
    require_file(package / MANIFEST)  # a pipe would never end
    try:
        manifest = read_json((package / MANIFEST).read_bytes())
        entries = manifest["itemInfoEntries"]
        location = entries[manifest["rootModelIdentifier"]]["path"]
        stated = [str(each["path"]) for each in entries.values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableModelError(
            "INVALID_GRAPH", "the manifest of the package cannot be read:", file=file,
            where=MANIFEST, why=f"{type(error).__name__}: {error}",
            fix="copy the whole package again",
        ) from error  # fmt: skip
    files = _Files(package / "Data", file, trusted=trusted)
    for each in stated:
        files.inside(each)
    return files.find(str(location))


class _Files:
    """The files beside a specification by the names that it uses; none lies outside its folder."""

    def __init__(self, folder: Path, file: str, *, trusted: bool) -> None:
        self._folder, self._file, self._trusted = folder, file, trusted
        self._opened: dict[str, BlobFile] = {}

    def array(self, value: MilValue) -> Array:
        """The numbers of a value that lies in a weight file."""
        if value.file not in self._opened:
            self._opened[value.file] = BlobFile(self.find(value.file), self._file)
        return self._opened[value.file].array(value)

    def find(self, name: str) -> Path:
        """A regular file inside the folder."""
        path = self.inside(name.removeprefix(_ROOT))
        try:
            status = os.lstat(path)
        except OSError as error:
            raise UnreadableModelError(
                "EXTERNAL_DATA_SHORT", f"the file {name!r} is missing", file=self._file,
                why=str(error.strerror), fix="copy the whole package again",
            ) from error  # fmt: skip
        if not stat.S_ISREG(status.st_mode):
            raise not_regular(path, status.st_mode, UnreadableModelError)
        if status.st_nlink > 1 and not self._trusted:
            raise self._escape(name, "it is a hard link, and its other name may lie anywhere")
        return path

    def inside(self, name: str) -> Path:
        """The path of a name, provided that it stays inside the folder."""
        try:
            return path_inside(self._folder, name)
        except LeadsOutError as error:
            raise self._escape(name, str(error)) from error

    def _escape(self, name: str, why: str) -> RefusedError:
        return RefusedError(
            "EXTERNAL_DATA_ESCAPE", f"the file {name!r} is not inside the package",
            file=self._file, why=why, fix="use a package as Core ML Tools wrote it",
        )  # fmt: skip

"""Which framework a file belongs to, by its content; its suffix is only ever remarked upon."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

from isomorph import registry
from isomorph.core.errors import UnreadableModelError, listed
from isomorph.store import file_signatures
from isomorph.store.model_folders import how_to_name, hub_folder, is_hub_name, main_model
from isomorph.store.safe_paths import exists, head_of, kind_of, not_regular
from isomorph.store.traces import is_trace
from isomorph.store.zip_safety import MAGIC as ZIP
from isomorph.store.zip_safety import check_archive

HEAD_BYTES = 64 << 10
"""How much of a file a framework is shown."""

_FACTORY = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")

_SUFFIXES = {
    ".onnx": "onnx", ".pt2": "pytorch", ".pt": "pytorch", ".pth": "pytorch", ".jit": "pytorch",
    ".pte": "executorch",
    ".tflite": "tflite", ".keras": "tensorflow", ".h5": "tensorflow", ".pb": "tensorflow",
    ".xml": "openvino",
}  # fmt: skip


def source_kind(word: object) -> str:
    """``file``, ``factory`` (``package.module:function``), ``recorded`` outputs, or ``live``."""
    if not isinstance(word, (str, Path)):
        return "live"
    path = Path(word)
    if is_factory(word):
        return "factory"
    # What is wrong with the path is reported when it is identified, with a proper error.
    if exists(path) and _is_recorded(path):
        return "recorded"
    return "file"


def is_factory(word: object) -> bool:
    """Whether the word names a function in a module, and no file of that name exists."""
    return isinstance(word, str) and _FACTORY.fullmatch(word) is not None and not exists(Path(word))


def identify(path: Path) -> str:
    """The framework whose model this is, or the error that names what it is instead."""
    if kind_of(path) == "folder":
        return _identify_folder(path)
    head = head_of(path, HEAD_BYTES)
    if not head:
        raise UnreadableModelError(
            "MODEL_EMPTY",
            "the file is empty:",
            file=str(path),
            why="0 bytes; a download or an export was cut off",
        )
    if head.startswith(ZIP):
        _check_zip(path)
    # What is certainly no model is reported first: frameworks guess, and a magic number does not.
    if (verdict := file_signatures.not_a_model(head)) is not None:
        raise verdict.error(path)
    claims = [name for name in registry.names("frameworks") if _claims(name, path, head)]
    if len(claims) == 1:
        return claims[0]
    if claims:
        raise UnreadableModelError(
            "AMBIGUOUS_FORMAT",
            "several frameworks take this for their own",
            file=str(path),
            why=", ".join(claims),
        )
    raise file_signatures.unclaimed(path, head).error(path)


def model_path(path: Path, *, decodes: bool = False) -> Path:
    """The path itself, or the model file of a folder that is no model as a whole.

    A model of the Hugging Face hub is its folder in the local cache. ``decodes``: of several models
    that which decodes on caches is meant.
    """
    if is_hub_name(path, tuple(_SUFFIXES)) and not os.path.lexists(path):
        path = hub_folder(path)
    if not path.is_dir() or is_trace(path):
        return path
    if any(_claims(name, path, b"") for name in registry.names("frameworks")):
        return path
    found = sorted(each for each in path.iterdir() if _is_model_file(each))
    if len(found) > 1 and (main := main_model(path, found, decodes=decodes)) is not None:
        return main
    if len(found) > 1:
        raise UnreadableModelError(
            "SEVERAL_MODELS",
            "the folder holds several models:",
            file=str(path),
            why=listed([each.name for each in found]),
            fix=how_to_name(found),
        )
    return found[0] if found else path


def _is_model_file(path: Path) -> bool:
    return path.suffix.lower() in _SUFFIXES and path.is_file()


def suffix_note(path: Path, framework: str) -> str | None:
    """The note for a file whose name does not fit its content."""
    expected = _SUFFIXES.get(path.suffix.lower())
    if expected is None or expected == framework:
        return None
    return (
        f"the name ends in {path.suffix}, as {expected} files do, but the content is "
        f"{framework}: it is read as {framework}"
    )


def _identify_folder(path: Path) -> str:
    for name in registry.names("frameworks"):
        if _claims(name, path, b""):
            return name
    if (path / "saved_model.pb").exists():
        raise file_signatures.unsupported("a TensorFlow SavedModel", "tensorflow").error(path)
    if is_trace(path):
        raise UnreadableModelError(
            "NOT_REGULAR_FILE",
            "this is a trace, and here a model is needed:",
            file=str(path),
            why="a trace is what one run recorded; it cannot be run, cut or repaired",
            fix="isomorph check TRACE MODEL, or give the model that it was recorded from",
        )
    raise not_regular(path, path.stat().st_mode, UnreadableModelError)


def _claims(name: str, path: Path, head: bytes) -> bool:
    try:
        return registry.framework(name).sniff(path, head)
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False  # it looked further than it was shown, and found nothing of its own


def _check_zip(path: Path) -> None:
    try:
        check_archive(path)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise UnreadableModelError(
            "MODEL_TRUNCATED",
            "the zip archive is cut off or damaged:",
            file=str(path),
            why=f"{error}; the file has {path.stat().st_size} bytes",
            fix="export or download it again",
        ) from error


def _is_recorded(path: Path) -> bool:
    if path.is_dir():
        return is_trace(path)
    if not path.is_file():
        return False
    try:
        head = head_of(path, HEAD_BYTES)
    except UnreadableModelError:
        return False
    return file_signatures.holds_arrays(path, head)

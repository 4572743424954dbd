"""Formats known by their first bytes: no models, or models that no framework reads."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isomorph.core.errors import UnreadableModelError
from isomorph.store.zip_members import member_names
from isomorph.store.zip_safety import MAGIC as ZIP

NPY = b"\x93NUMPY"
GGUF = b"GGUF"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_TFLITE = b"TFL3"
_OPENVINO = re.compile(rb"<net\s[^>]*\bversion=")

_EXACT = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x7fELF", "a program or shared library"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive, to be unpacked first"),
    (b"\x1f\x8b", "a gzip file, to be unpacked first"),
    (b"\xfd7zXZ\0", "an xz file, to be unpacked first"),
    (b"BZh", "a bzip2 file, to be unpacked first"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file, to be unpacked first"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a file cannot be used as a model."""

    code: str
    what: str
    why: str | None = None
    fix: str | None = None
    other: bool = False
    """Whether it is known to be something else than a model."""

    def error(self, path: Path) -> UnreadableModelError:
        """As the error to raise."""
        what = f"{self.what}, not a model:" if self.other else f"{self.what}:"
        return UnreadableModelError(self.code, what, file=str(path), why=self.why, fix=self.fix)


def not_a_model(head: bytes) -> Verdict | None:
    """What the file certainly is, where that is no model of any framework."""
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return Verdict(
            "LFS_POINTER",
            "this is a Git LFS pointer, not the model itself",
            "the repository was cloned without its large files",
            "run git lfs pull",
        )
    if (markup := _markup(head)) is not None:
        if _OPENVINO.search(head[:1024]):
            return None  # the network of an OpenVINO model
        return _other(markup, "a web server may have sent it instead of the model")
    for magic, kind in _EXACT:
        if head.startswith(magic):
            return _other(kind)
    if head[257:262] == b"ustar":
        return _other("a tar archive", fix="unpack it first")
    if head.startswith(NPY):
        return _other("one NumPy array", "arrays can be inputs or recorded outputs")
    return None


def _markup(head: bytes) -> str | None:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1024].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "HTML"
    if start.startswith((b"<?xml", b"<!doctype", b"<!--", b"<svg")):
        return "HTML" if b"<html" in start else "XML"
    return None


def unclaimed(path: Path, head: bytes) -> Verdict:
    """The error for a file that no installed framework accepts."""
    if head[4:8] == _TFLITE:
        return unsupported("a TensorFlow Lite model", "tflite")
    if _OPENVINO.search(head[:1024]):
        return unsupported("an OpenVINO model (IR)", "openvino")
    if head.startswith(GGUF):
        return unsupported("a GGUF file of a language model", "hf")
    if head.startswith(_HDF5):
        return unsupported("an HDF5 file, as Keras writes them", "tensorflow")
    if head.startswith(ZIP):
        return _unclaimed_zip(path)
    if is_safetensors(head):
        return _other(
            "a safetensors file",
            "it holds weights without a graph",
            "give the model as package.module:factory, and this file with --state",
        )
    if head.lstrip()[:1] in (b"{", b"["):
        return _other("JSON")
    if _is_text(head):
        return _other("plain text")
    return Verdict(
        "NOT_A_MODEL",
        "no framework recognizes this file",
        f"its first bytes are {head[:8].hex(' ')}",
    )


def unsupported(what: str, framework: str) -> Verdict:
    """A model, but of a framework that has no adapter here."""
    return Verdict(
        "UNSUPPORTED_FORMAT",
        f"this is {what}",
        f"no {framework} adapter is installed that reads it",
        f"pip install 'isomorph[{framework}]' where that extra has one, or convert it to ONNX",
    )


def _unclaimed_zip(path: Path) -> Verdict:
    inside = member_names(path)
    if "config.json" in inside and any(name.endswith(".h5") for name in inside):
        return unsupported("a Keras model", "tensorflow")
    if _all_arrays(inside):
        return _other("an .npz of arrays", "arrays can be inputs or recorded outputs")
    return Verdict(
        "NOT_A_MODEL", "this is a zip archive, and no framework recognizes what is in it"
    )


def holds_arrays(path: Path, head: bytes) -> bool:
    """Whether this is a .npy, .npz or safetensors file, by its content."""
    if head.startswith(ZIP):
        try:
            return _all_arrays(member_names(path))
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
            return False
    return head.startswith(NPY) or is_safetensors(head)


def _all_arrays(inside: Sequence[str]) -> bool:
    return bool(inside) and all(name.endswith(".npy") for name in inside)


def is_safetensors(head: bytes) -> bool:
    """Whether a length in binary is followed by a JSON object, however hostile the length."""
    return len(head) >= 10 and head[8:9] == b"{" and not _is_text(head[:8])


def _other(kind: str, why: str | None = None, fix: str | None = None) -> Verdict:
    """Something that is known and is no model."""
    return Verdict("NOT_A_MODEL", f"this is {kind}", why, fix, other=True)


def _is_text(head: bytes) -> bool:
    # A character may be cut in two where the head ends.
    text = head.decode("utf-8", "ignore")
    if len(text.encode()) < len(head) - 3:
        return False
    return all(character.isprintable() or character in "\r\n\t\f" for character in text)

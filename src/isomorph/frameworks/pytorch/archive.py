"""What kind of PyTorch file this is, and whether opening it could run somebody's code.

Nothing here imports torch or unpickles anything.
"""

from __future__ import annotations

import ast
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.pytorch.pickle_scan import (
    holds_only_tensors,
    imported_names,
    pickles_in_zip,
    suspicious,
)
from isomorph.store.file_signatures import GGUF
from isomorph.store.zip_members import member_names
from isomorph.store.zip_safety import DAMAGE

ZIP_MAGIC = b"PK\x03\x04"
_PICKLE = re.compile(rb"\x80[\x02-\x05]")


def kind_of(path: Path, head: bytes) -> str | None:
    """``exported``, ``script``, ``gguf``, ``pickle`` or ``legacy pickle``; None for others."""
    if head.startswith(GGUF):
        return "gguf"
    if _PICKLE.match(head):
        return "legacy pickle"
    if not head.startswith(ZIP_MAGIC):
        return None
    try:
        return _kind_of_members([_inside(name) for name in member_names(path)])
    except zipfile.BadZipFile:
        return _kind_of_beginning(path)
    except (OSError, ValueError, NotImplementedError):
        return None


def _inside(name: str) -> str:
    # torch puts everything below one folder named after the file; its older exporter did not.
    return name.partition("/")[2] or name


def _kind_of_members(members: list[str]) -> str | None:
    if "serialized_exported_program.json" in members or "archive_format" in members:
        return "exported"
    if "constants.pkl" in members and any(name.startswith("code/") for name in members):
        return "script"
    return "pickle" if "data.pkl" in members else None


def _kind_of_beginning(path: Path) -> str | None:
    """A cut archive has lost its directory, but its first members still name themselves."""
    with path.open("rb") as file:
        begin = file.read(1 << 16)
    marks = {b"/data/weights/": "exported", b"/archive_format": "exported", b"/data.pkl": "pickle"}
    return next((kind for mark, kind in marks.items() if mark in begin), None)


def is_folder_of_transformers(path: Path) -> bool:
    """Whether a folder holds a configuration and weights, in one file or several."""
    return (path / "config.json").is_file() and any(path.glob("*.safetensors"))


def is_archive(path: Path) -> bool:
    """Whether the file begins as a zip archive does."""
    with path.open("rb") as file:
        return file.read(len(ZIP_MAGIC)) == ZIP_MAGIC


def is_damaged(path: Path) -> bool:
    """Whether an archive's bytes no longer match the checksums that it was written with."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is not None
    except DAMAGE:
        return True


def holds_traced_inputs(path: Path) -> bool:
    """Whether a TorchScript archive remembers the example it was traced with."""
    with zipfile.ZipFile(path) as archive:
        return any(_inside(name) == "traced_inputs.pkl" for name in archive.namelist())


def refuse_pickle(path: Path, kind: str) -> None:
    """Refuse a pickled model, naming what it would import."""
    try:
        pickles = [data for _, data in pickles_in_zip(path)] if kind == "pickle" else None
    except DAMAGE as error:
        raise UnreadableModelError(
            "MODEL_TRUNCATED", "the archive is cut short", file=str(path),
            where=f"{path.stat().st_size} bytes", why=str(error),
        ) from error  # fmt: skip
    pickles = [path.read_bytes()] if pickles is None else pickles
    names = tuple(name for data in pickles for name in imported_names(data))
    foreign = suspicious(names)
    if holds_only_tensors(names):
        raise UnreadableModelError(
            "NOT_A_MODEL", "this is a state dict, weights without a model", file=str(path),
            why="it holds tensors, but not what is computed with them; nothing was unpickled",
            fix="give a factory that builds the module, and the weights as safetensors: "
            "package.module:factory --state weights.safetensors --trust; or export the model "
            "with torch.export.save (.pt2)",
        )  # fmt: skip
    raise RefusedError(
        "UNSAFE_PICKLE",
        "refused to unpickle a model",
        file=str(path),
        where=f"it would import {_listed(foreign)}" if foreign else "it holds pickled objects",
        why="unpickling runs whatever code the file names; nothing was unpickled",
        fix="if you trust the file, add --trust, and --inputs to follow its module; or save it "
        "with torch.export.save (.pt2)",
    )


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def refuse_unsafe_export(path: Path) -> dict[str, Any]:
    """Refuse a .pt2 whose loading would unpickle classes, evaluate code or load a library.

    Return what its members in JSON hold, so that they are read and parsed once.
    """
    documents: dict[str, Any] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            inside = _inside(name)
            if inside.startswith("data/aotinductor/"):
                raise _unsafe(path, "UNSAFE_LIBRARY", name, "it holds a compiled library")
            if inside.startswith("data/constants/opaque_obj"):
                raise _unsafe(path, "UNSAFE_PICKLE", name, "it holds a pickled Python object")
            if inside.endswith(".pt"):
                _refuse_foreign_names(path, name, archive.read(name))
            elif inside.endswith(".json"):
                documents[name] = _safe_json(path, name, archive.read(name))
    return documents


def read_programs(path: Path) -> dict[str, Any]:
    """Read the exported programs of an archive, and nothing else of it."""
    with zipfile.ZipFile(path) as archive:
        return {
            member: read_json(archive.read(member))
            for member in archive.namelist()
            if _PROGRAM.fullmatch(_inside(member))
        }


def operators_of(documents: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The operators an exported program calls (``aten.conv2d.default``), with their node's name."""
    for member, document in documents.items():
        if not _PROGRAM.fullmatch(_inside(member)):
            continue
        for node in document.get("graph_module", {}).get("graph", {}).get("nodes", ()):
            target = str(node.get("target", ""))
            if target.startswith("torch.ops."):
                yield target.removeprefix("torch.ops."), str(node.get("name") or "")


_PROGRAM = re.compile(r"models/.*\.json|serialized_exported_program\.json")


def _unsafe(path: Path, code: str, where: str, why: str) -> RefusedError:
    return RefusedError(
        code,
        "refused to load an exported program",
        file=str(path),
        where=where,
        why=f"{why}; loading it would run code that the file brings along",
        fix="if you trust the file, add --trust",
    )


def _refuse_foreign_names(path: Path, member: str, data: bytes) -> None:
    if data.startswith(ZIP_MAGIC):
        pickles = [each for _, each in pickles_in_zip(io.BytesIO(data))]
    else:
        pickles = [data]
    foreign = suspicious(tuple(name for each in pickles for name in imported_names(each)))
    if foreign:
        raise _unsafe(path, "UNSAFE_PICKLE", member, f"its pickle would import {_listed(foreign)}")


_TARGET = re.compile(
    r"(torch\.ops\.\w+\.\w+(\.\w+)?|_operator\.(getitem|add|sub|mul|truediv|floordiv|mod|neg|pow|"
    r"eq|ne|lt|le|gt|ge|and_|or_|not_|pos)|math\.\w+|torch\.(_sym_\w+|sym_\w+)|#[\w.:]+)"
)
_READS_FILES = re.compile(r"torch\.ops\.aten\.from_file\b")
_CODE_LOADERS = re.compile(r"default_factory_module\W+(?!builtins\b)\w|__enum__")


def _safe_json(path: Path, member: str, data: bytes) -> Any:  # noqa: ANN401
    """Return what a member holds; refuse what would make torch run code."""
    try:
        document = read_json(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableModelError(
            "MODEL_TRUNCATED", "the program is not readable", file=str(path), where=member,
            why=str(error),
        ) from error  # fmt: skip
    for key, value in _strings(document):
        if key == "target" and value.startswith(("torch", "_operator", "math", "#")):
            if not _TARGET.fullmatch(value) or _READS_FILES.match(value):
                why = f"a node calls {value}, which is no tensor operator"
                raise _unsafe(path, "UNSAFE_TARGET", member, why)
        elif key == "expr_str" and not _is_arithmetic(value):
            raise _unsafe(path, "UNSAFE_EXPRESSION", member, f"a size is the code {value!r}")
        elif key in {"in_spec", "out_spec"} and _CODE_LOADERS.search(value):
            raise _unsafe(path, "UNSAFE_TARGET", member, "its signature imports a Python module")
    return document


def _strings(value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield every string with the key that it stands under, itself or in a list."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        key, item = waiting.pop()
        if isinstance(item, str):
            yield key, item
            continue
        inside: Iterable[tuple[str, Any]] = ()
        if isinstance(item, dict):
            inside = item.items()
        elif isinstance(item, list):
            inside = ((key, each) for each in item)
        for name, each in inside:
            # Most of a program are numbers, which say nothing here.
            if isinstance(each, str):
                yield name, each
            elif isinstance(each, (dict, list)):
                waiting.append((name, each))


_ARITHMETIC = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Name, ast.Load,
    ast.Constant, ast.keyword, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.Tuple,
)  # fmt: skip
_FUNCTIONS = frozenset(
    {"Symbol", "Integer", "Float", "Rational", "Add", "Mul", "Pow", "Max", "Min", "Abs", "floor",
     "ceiling", "sqrt", "Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Not", "Equality",
     "Unequality", "StrictLessThan", "LessThan", "StrictGreaterThan", "GreaterThan", "FloorDiv",
     "ModularIndexing", "Where", "PythonMod", "Mod", "CleanDiv", "CeilToInt", "FloorToInt",
     "CeilDiv", "LShift", "RShift", "PowByNatural", "FloatPow", "FloatTrueDiv", "IntTrueDiv",
     "TruncToFloat", "TruncToInt", "RoundToInt", "RoundDecimal", "ToFloat", "Identity", "Piecewise",
     "ExprCondPair", "IsNonOverlappingAndDenseIndicator"}
)  # fmt: skip


def _is_arithmetic(text: str) -> bool:
    # torch hands these strings to a parser that evaluates Python, so only sizes may pass.
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        if not isinstance(node, _ARITHMETIC):
            return False
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
                return False
        elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            if not re.fullmatch(r"\w+|[\d.eE+-]+", str(node.value)):
                return False
        elif isinstance(node, ast.Name) and node.id.startswith("__"):
            return False
    return True

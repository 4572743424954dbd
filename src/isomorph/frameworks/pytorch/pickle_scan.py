"""Looks into pickles without running them: which classes and functions would they import?"""

from __future__ import annotations

import io
import pickletools
import zipfile
from collections.abc import Iterator
from pathlib import Path

_HARMLESS = frozenset(
    {
        "collections.OrderedDict", "collections.defaultdict", "builtins.set", "builtins.dict",
        "builtins.list", "builtins.tuple", "builtins.int", "builtins.float", "builtins.bool",
        "builtins.complex", "builtins.bytearray", "_codecs.encode", "torch.Size", "torch.Tensor",
        "torch.device", "torch.storage.UntypedStorage", "torch.storage.TypedStorage",
        "torch.storage._load_from_bytes", "torch._utils._rebuild_tensor",
        "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3",
        "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state",
        "torch._utils._rebuild_qtensor", "torch._utils._rebuild_sparse_tensor",
        "torch._utils._rebuild_meta_tensor_no_storage", "torch._utils._rebuild_nested_tensor",
        "torch._utils._rebuild_device_tensor_from_numpy", "torch._tensor._rebuild_from_type_v2",
        "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer", "torch.per_tensor_affine",
        "torch.per_channel_affine", "torch.per_channel_affine_float_qparams",
        "torch.serialization._get_layout",
    }
)  # fmt: skip
"""What tensors are stored with. ``_load_from_bytes`` is checked by torch's own safe loader."""

_DTYPES = frozenset(
    {"float", "float16", "float32", "float64", "half", "double", "bfloat16", "int", "int8", "int16",
     "int32", "int64", "short", "long", "uint8", "uint16", "uint32", "uint64", "bool", "complex32",
     "complex64", "complex128", "qint8", "quint8", "qint32", "float8_e4m3fn", "float8_e5m2",
     "float8_e4m3fnuz", "float8_e5m2fnuz", "strided", "sparse_coo"}
)  # fmt: skip


def imported_names(data: bytes) -> tuple[str, ...]:
    """Every global that one or more pickles, one after the other, would import.

    A name that is put together while unpickling cannot be read from the opcodes and is listed
    as ``(computed name)``. Broken data ends the reading; what was found so far is returned.
    """
    names: dict[str, None] = {}
    stream = io.BytesIO(data)
    while stream.tell() < len(data):
        try:
            for name in _one_pickle(stream):
                names[name] = None
        except (ValueError, UnicodeDecodeError, EOFError, IndexError):
            break
    return tuple(names)


def _one_pickle(stream: io.BytesIO) -> Iterator[str]:
    strings: list[str] = []
    for opcode, argument, _ in pickletools.genops(stream):
        if opcode.name in {"GLOBAL", "INST"}:
            yield str(argument).replace(" ", ".", 1)
        elif opcode.name == "STACK_GLOBAL":
            # Module and name were pushed last; a memo may have recalled either of them.
            yield ".".join(strings[-2:]) if len(strings) >= 2 else "(computed name)"
        elif opcode.name in {"BINGET", "LONG_BINGET", "GET"}:
            strings.append("(recalled)")
        elif opcode.name.startswith("EXT"):
            yield "(extension registry)"
        elif isinstance(argument, str):
            strings.append(argument)


def suspicious(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those names that are not part of how tensors are stored."""
    return tuple(name for name in names if not _is_harmless(name))


def holds_only_tensors(names: tuple[str, ...]) -> bool:
    """Whether a pickle that imports these names holds tensors and plain containers alone."""
    tensors = any(name.startswith("torch._utils._rebuild_") for name in names)
    return tensors and not suspicious(names)


def _is_harmless(name: str) -> bool:
    plain = name.replace("__builtin__.", "builtins.")
    module, _, word = plain.rpartition(".")
    storage = module in {"torch", "torch.cuda", "torch.storage"} and word.endswith("Storage")
    return plain in _HARMLESS or storage or (module == "torch" and word in _DTYPES)


def pickles_in_zip(path: Path | io.BytesIO) -> Iterator[tuple[str, bytes]]:
    """The pickles of a zip that ``torch.save`` wrote, by member name."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if member.endswith(".pkl"):
                yield member, archive.read(member)

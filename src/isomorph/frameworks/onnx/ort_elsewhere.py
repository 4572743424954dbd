"""ONNX Runtime of another environment, seen as the package itself by the session that calls it.

Only what this framework uses of the package is here. Models are cut and values are read in this
process, where the ``onnx`` package is; files are opened and run over there (``ort_file``).
"""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.onnx.ort_file import is_raw

if TYPE_CHECKING:
    from isomorph.core.execution import OpensElsewhere
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array

_HERE = "isomorph.frameworks.onnx.ort_file"
_NAME = "onnxruntime of another environment"
_EXTENSIONS = {
    "name": _NAME,
    "framework": f"{_HERE}:OrtFileFramework",
    "runtime": f"{_HERE}:OrtFileRuntime",
}


class ElsewhereError(Exception):
    """What ONNX Runtime raised in the other environment."""


class OrtElsewhere:
    """The part of the package ``onnxruntime`` that is used here."""

    def __init__(self, elsewhere: OpensElsewhere) -> None:
        self._elsewhere = elsewhere
        with _raised():
            asked = elsewhere.open("", extensions=_EXTENSIONS, settings={})
        facts = asked.environment.facts
        self.__version__ = asked.environment.version
        self._all: list[str] = read_json(facts["all providers"])
        self._available: list[str] = read_json(facts["available providers"])
        levels = read_json(facts["levels"])
        self.GraphOptimizationLevel = SimpleNamespace(**{name: name for name in levels})
        asked.close()
        self.SessionOptions, self.OrtValue = SessionOptions, OrtValue

    def get_all_providers(self) -> list[str]:
        """Every execution provider that the package knows."""
        return self._all

    def get_available_providers(self) -> list[str]:
        """Those that it was built with."""
        return self._available

    def InferenceSession(  # noqa: N802 - the package's name
        self,
        source: str | bytes,
        options: SessionOptions,
        *,
        providers: Sequence[str],
        disabled_optimizers: Sequence[str] = (),
    ) -> InferenceSession:
        """A session of a file or of the bytes of one."""
        asked = options.asked() | {
            "providers": list(providers),
            "disabled": list(disabled_optimizers),
            "as_bytes": isinstance(source, bytes),
        }
        path = source if isinstance(source, str) else _written(source)
        try:
            with _raised():
                session = self._elsewhere.open(
                    os.path.abspath(path),  # noqa: PTH100
                    extensions=_EXTENSIONS,
                    settings={"session": json.dumps(asked)},
                )
        except BaseException:
            if isinstance(source, bytes):
                Path(path).unlink()
            raise
        return InferenceSession(session, path if isinstance(source, bytes) else None)


@dataclass(slots=True)
class SessionOptions:
    """Options as they are set here, to be applied there."""

    log_severity_level: int = 2
    graph_optimization_level: str = "ORT_ENABLE_ALL"
    use_deterministic_compute: bool = False
    intra_op_num_threads: int | None = None
    inter_op_num_threads: int | None = None
    _entries: list[tuple[str, str]] = field(default_factory=list)
    _custom_ops: str = ""

    def add_session_config_entry(self, key: str, value: str) -> None:
        """One entry of the configuration."""
        self._entries.append((key, value))

    def register_custom_ops_library(self, path: str) -> None:
        """A library of custom operators."""
        self._custom_ops = os.path.abspath(path)  # noqa: PTH100

    def asked(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "severity": self.log_severity_level,
            "level": self.graph_optimization_level,
            "deterministic": self.use_deterministic_compute,
            "intra_op_num_threads": self.intra_op_num_threads,
            "inter_op_num_threads": self.inter_op_num_threads,
            "entries": self._entries,
            "custom_ops": self._custom_ops,
        }


class OrtValue:
    """A tensor of a type that NumPy may lack: its bytes, and what they are."""

    def __init__(self, array: Array, shape: Sequence[int], number: int | None = None) -> None:
        self._array, self._shape, self.number = array, tuple(shape), number

    @classmethod
    def ortvalue_from_numpy(cls, array: Array) -> OrtValue:
        """Of a type that NumPy has."""
        return cls(array, array.shape)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, raw: Array, number: int) -> OrtValue:
        """Of any element type of ONNX, by its number."""
        return cls(raw, raw.shape, number)

    def numpy(self) -> Array:
        """The array, of a type that NumPy has."""
        return self._array

    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return self._shape

    def data_ptr(self) -> int:
        """Where its bytes lie."""
        return int(self._array.ctypes.data)

    def packed(self) -> Any:  # noqa: ANN401
        """What travels to the other environment."""
        return self._array if self.number is None else {"raw": self._array, "type": self.number}


class InferenceSession:
    """A session in the other environment."""

    def __init__(self, session: Session, written: str | None) -> None:
        self._session = session
        facts = session.environment.facts
        self._providers: list[str] = read_json(facts["providers"])
        self._outputs = [
            SimpleNamespace(name=name, type=kind) for name, kind in read_json(facts["outputs"])
        ]
        if facts["log"]:
            # Whoever asked for a log reads what is written here.
            os.write(2, facts["log"].encode())
        weakref.finalize(self, _release, session, written)

    def get_providers(self) -> list[str]:
        """Those in use."""
        return self._providers

    def get_outputs(self) -> list[Any]:
        """Name and type of each output."""
        return self._outputs

    def run(self, fetch: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
        """The values of these outputs, as the package gives them."""
        packed = {
            name: value.packed() if isinstance(value, OrtValue) else value
            for name, value in feeds.items()
        }
        with _raised():
            found = self._session.run(packed, list(fetch))
        return [found[name] for name in fetch]

    def run_with_ort_values(
        self, fetch: Sequence[str], feeds: Mapping[str, OrtValue]
    ) -> list[OrtValue]:
        """The same as tensors of any type."""
        raw = {each.name for each in self._outputs if is_raw(each.type)}
        found = zip(fetch, self.run(fetch, feeds), strict=True)
        return [
            OrtValue(value["raw"], tuple(value["shape"].tolist()))
            if name in raw
            else OrtValue(np.asarray(value), np.shape(value))
            for name, value in found
        ]


class _raised:  # noqa: N801 - it is used as a word
    """What the package raised there is raised here; a crash or a missing package is as it is."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, IsomorphError) and error.code == "RUNTIME_FAILED" and error.why:
            raise ElsewhereError(error.why) from error


def _written(model: bytes) -> str:
    """The model in a file; the other environment reads its bytes."""
    with tempfile.NamedTemporaryFile(prefix="cut-", suffix=".onnx", delete=False) as file:
        file.write(model)
    return file.name


def _release(session: Session, written: str | None) -> None:
    if written is not None:
        Path(written).unlink(missing_ok=True)
    with suppress(IsomorphError, OSError):
        session.close()

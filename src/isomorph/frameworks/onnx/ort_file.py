"""ONNX Runtime in another environment: it opens a file and runs it, and needs NumPy beside.

``ort_elsewhere`` is the other end, which knows ONNX. Here no module may import the ``onnx`` package
or anything else that an environment with ONNX Runtime and NumPy does not have.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import (
    IsomorphError,
    RuntimeFailedError,
    UnreadableModelError,
    UsageError,
)
from isomorph.core.memory import copying_weights
from isomorph.core.model import Graph, Model
from isomorph.core.operator_tables import NO_TABLES
from isomorph.core.trace import Capabilities
from isomorph.core.untrusted_json import read_json
from isomorph.frameworks.onnx.ort_import import onnxruntime

if TYPE_CHECKING:
    from isomorph.core.trace import Array, Arrays, Environment, Noise

_NAME = "onnx_file"
VERBOSE = 0
"""The severity from which on everything is logged."""
_BITS = {"4": 4, "2": 2}


class OrtFileFramework:
    """A file for ONNX Runtime, of which nothing is read here."""

    name = _NAME
    extra: str | None = None
    runtime = _NAME
    oracle = _NAME
    keeps_metadata = False
    operator_tables = NO_TABLES

    def sniff(self, path: Path, head: bytes) -> bool:
        """No file is found to be of this kind; its caller knows."""
        del path, head
        return False

    def claims(self, source: Any) -> bool:  # noqa: ANN401
        """No live object is."""
        del source
        return False

    def hand_over(self, source: Any, example: Mapping[str, Any], folder: Path) -> Path:  # noqa: ANN401
        """There are no live objects."""
        raise _only_runs()

    def load(self, source: Any, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """The name of the file, and no description."""
        del options
        graph = Graph(name="", inputs=(), outputs=(), nodes=(), tensors={}, constants={})
        return Model(framework=_NAME, location=str(source), digest="", graph=graph)

    def save(self, model: Model, path: Path) -> None:
        """Nothing is written here."""
        raise _only_runs()


class OrtFileRuntime:
    """ONNX Runtime as it is called by its package; the settings are those of one session."""

    name = _NAME
    extra: str | None = None
    worker = _NAME
    settings: Mapping[str, str] = {}
    plain: Mapping[str, str] = {}

    def accepts(self, model: Model) -> bool:
        """Only what the framework above has named."""
        return model.framework == _NAME

    def open(self, model: Model, environment: Environment) -> OrtFileSession:
        """A session of the file; without a word about one, only the facts of the package."""
        ort = onnxruntime("runtime 'onnxruntime'")
        facts = {
            "all providers": json.dumps(ort.get_all_providers()),
            "available providers": json.dumps(ort.get_available_providers()),
            "levels": json.dumps([x for x in dir(ort.GraphOptimizationLevel) if x.isupper()]),
        }
        session = None
        if "session" in environment.settings:
            asked = read_json(environment.settings["session"])
            log: list[str] = []
            with _logged(log, wanted=asked["severity"] == VERBOSE), _own_words():
                session = _opened(ort, asked, model.location)
            outputs = [(each.name, each.type) for each in session.get_outputs()]
            facts |= {
                "providers": json.dumps(session.get_providers()),
                "outputs": json.dumps(outputs),
                "log": "".join(log),
            }
        known = replace(environment, version=ort.__version__, facts=facts)
        return OrtFileSession(ort, session, known)


class OrtFileSession:
    """Feeds and fetches inputs and outputs, those of types that NumPy lacks as their bytes."""

    capabilities = Capabilities(fetch="outputs", feed="inputs")

    def __init__(self, ort: Any, session: Any, environment: Environment) -> None:  # noqa: ANN401
        self._ort, self._session, self.environment = ort, session, environment
        outputs = session.get_outputs() if session is not None else ()
        self._types = {each.name: each.type for each in outputs}

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch``; a feed with an element type of ONNX is a map of ``raw`` and ``type``.

        So is an output of such a type, of ``raw`` and ``shape``.
        """
        del noise
        with _own_words():
            return self._run(feeds, fetch)

    def _run(self, feeds: Arrays, fetch: Sequence[str]) -> Arrays:
        values = {name: self._fed(value) for name, value in feeds.items()}
        raw = [name for name in fetch if is_raw(self._types[name])]
        if not raw and not any(isinstance(each, self._ort.OrtValue) for each in values.values()):
            return dict(zip(fetch, self._session.run(list(fetch), values), strict=True))
        tensors = [name for name in fetch if self._types[name].startswith("tensor(")]
        given = {
            name: value
            if isinstance(value, self._ort.OrtValue)
            else self._ort.OrtValue.ortvalue_from_numpy(value)
            for name, value in values.items()
        }
        found: dict[str, Any] = {}
        for name, value in zip(
            tensors, self._session.run_with_ort_values(tensors, given), strict=True
        ):
            found[name] = _bytes_of(value, self._types[name]) if name in raw else value.numpy()
        rest = [name for name in fetch if name not in found]
        if rest:
            found.update(zip(rest, self._session.run(rest, values), strict=True))
        return {name: found[name] for name in fetch}

    def close(self) -> None:
        """Let go of the session."""
        self._session = None

    def _fed(self, value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, Mapping):
            make = self._ort.OrtValue.ortvalue_from_numpy_with_onnx_type
            return make(value["raw"], int(value["type"]))
        return value


def is_raw(declared: str) -> bool:
    """Whether an output of this declared type has no type of NumPy."""
    kind = declared.removeprefix("tensor(").removesuffix(")")
    return kind.startswith(("bfloat16", "float8", "float4")) or kind in (
        "int4", "uint4", "int2", "uint2",
    )  # fmt: skip


def _bytes_of(value: Any, declared: str) -> dict[str, Array]:  # noqa: ANN401
    kind = declared.removeprefix("tensor(").removesuffix(")")
    shape = [int(size) for size in value.shape()]
    bits = 16 if kind == "bfloat16" else _BITS.get(kind[-1], 4 if "float4" in kind else 8)
    size = (math.prod(shape) * bits + 7) // 8
    raw = np.frombuffer(ctypes.string_at(value.data_ptr(), size), np.uint8).copy()
    return {"raw": raw, "shape": np.array(shape, np.int64)}


def _opened(ort: Any, asked: Mapping[str, Any], source: str) -> Any:  # noqa: ANN401
    options = ort.SessionOptions()
    options.log_severity_level = asked["severity"]
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, asked["level"])
    options.use_deterministic_compute = asked["deterministic"]
    for key, value in asked["entries"]:
        options.add_session_config_entry(key, value)
    for name in ("intra_op_num_threads", "inter_op_num_threads"):
        if asked[name] is not None:
            setattr(options, name, asked[name])
    if asked["custom_ops"]:
        options.register_custom_ops_library(asked["custom_ops"])
    more = {"disabled_optimizers": asked["disabled"]} if asked["disabled"] else {}
    model = Path(source).read_bytes() if asked["as_bytes"] else source
    with warnings.catch_warnings(), copying_weights():
        warnings.simplefilter("ignore")
        return ort.InferenceSession(model, options, providers=asked["providers"], **more)


@contextmanager
def _own_words() -> Iterator[None]:
    """What the package raises, with its message alone as the reason."""
    try:
        yield
    except IsomorphError:
        raise
    except Exception as error:
        if type(error).__name__ == "InvalidProtobuf":
            raise UnreadableModelError(
                "MODEL_TRUNCATED", "ONNX Runtime cannot parse the file", why=str(error)
            ) from error
        raise RuntimeFailedError("RUNTIME_FAILED", "ONNX Runtime failed", why=str(error)) from error


@contextmanager
def _logged(lines: list[str], *, wanted: bool) -> Iterator[None]:
    """What compiled code writes to the standard error meanwhile goes into ``lines``."""
    if not wanted:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            log.seek(0)
            lines.append(log.read().decode("utf-8", "replace"))


def _only_runs() -> UsageError:
    return UsageError("CUT_UNSUPPORTED", "a file in another environment is only run")

"""Loading models and inputs from what the user named."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph import registry
from isomorph.core.cost import phase
from isomorph.core.errors import UsageError
from isomorph.core.escaping import printable
from isomorph.core.messages import message
from isomorph.core.report import ModelForm
from isomorph.core.runtime_word import split_word
from isomorph.core.trace import Trace, flatten
from isomorph.inputs import feeds as feeding
from isomorph.inputs.feeds import Sample
from isomorph.inputs.generate import SAMPLES, generate
from isomorph.sessions.memory_estimate import readable, refuse_without_space
from isomorph.sessions.model_handle import ModelHandle, chosen_runtime, with_notes
from isomorph.store.format_detection import identify, model_path, source_kind, suffix_note
from isomorph.store.input_files import UNNAMED, read_arrays, write_arrays
from isomorph.store.trace_files import is_record, read_record
from isomorph.store.traces import is_trace, read
from isomorph.workers.interpreters import find_interpreter

if TYPE_CHECKING:
    from isomorph.core.model import Model, TensorSpec
    from isomorph.core.trace import Array
    from isomorph.sessions.host import Host
    from isomorph.sessions.trace_session import Replayed


ORACLE = "oracle"
"""The settings of the oracles are ``oracle.key``."""

_SIDES = ("reference", "candidate", ORACLE)

_CACHES, _OUTSIDE = "caches", "outside"
"""The option of a framework for caches that a model writes in place: they become inputs."""

_BYTES_PER_WEIGHT = 4
"""Of most files; a worker that is started too early or too late costs time only."""


class Loader:
    """Loads models and input files, with the options that the user gave."""

    def __init__(
        self,
        *,
        host: Host,
        runtime: str | Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
        inputs: Any = None,  # noqa: ANN401
        on_progress: Callable[[str, str], None] | None = None,
        handles: list[ModelHandle] | None = None,
    ) -> None:
        """``handles`` collects the models as they are loaded."""
        self.handles = handles if handles is not None else []
        self.host, self.on_progress = host, on_progress
        self.runtime, self.interpreters = _found_runtimes(runtime)
        self.settings, self.options = settings or {}, dict(options or {})
        for key in self.settings:
            _refuse_unknown_side(key)
        self.origin, self.arrays = _given(inputs)
        if isinstance(inputs, (str, Path)):
            self.options["inputs"] = str(Path(inputs).resolve())
        self._folder: TemporaryDirectory[str] | None = None

    def take_caches_in(self) -> None:
        """Load models whose caches are inputs and outputs, also those that write them in place."""
        self.options[_CACHES] = _OUTSIDE

    def warm(self, *sources: Any, runs: bool = True) -> None:  # noqa: ANN401
        """Start the workers that these models will need, so that their imports overlap.

        ``runs``: their runtimes are used, and not their oracles alone.
        """
        for source in sources:
            if isinstance(source, (str, Path)) and source_kind(str(source)) == "file":
                path = self._path(source)
                framework = registry.framework(identify(path))
                # The size of a folder is not known before it is read.
                weights = path.stat().st_size // _BYTES_PER_WEIGHT if path.is_file() else None
                shared = weights is not None and self.host.shares_worker(weights)
                apart = runs and not shared
                self.host.warm([framework.oracle, *((framework.runtime,) if apart else ())])

    def _path(self, source: str | Path) -> Path:
        """The model file; of a folder with several, that which the check is about."""
        return model_path(Path(source), decodes=self.options.get(_CACHES) == _OUTSIDE)

    def load(self, source: Any) -> Model:  # noqa: ANN401
        """Read, validate and describe, in a worker."""
        if self.on_progress is not None:
            self.on_progress(
                "load", str(source) if isinstance(source, (str, Path)) else "live model"
            )
        if not isinstance(source, (str, Path)):
            return self._load_live(source)
        if source_kind(str(source)) == "factory":
            return self.host.load(str(source), "pytorch", self.options)
        path = self._path(source)
        framework = identify(path)
        note = suffix_note(path, framework)
        model = self.host.load(str(path), framework, self.options)
        return with_notes(model, (note,) if note else ())

    def written(self, source: Any, folder: Path) -> str:  # noqa: ANN401
        """A path or word that a worker can load; a live model is written to a file first."""
        if isinstance(source, (str, Path)):
            factory = source_kind(str(source)) == "factory"
            return str(source) if factory else str(self._path(source).resolve())
        framework = registry.framework(_framework_of(source))
        return str(framework.hand_over(source, self.arrays or {}, folder))

    def open(self, role: str, source: Any, model: Model | None = None) -> ModelHandle:  # noqa: ANN401
        """Load it, if that was not done yet, and choose its runtime."""
        if model is None:
            with phase("load"):
                model = self.load(source)
        name = self.runtime.get(role) if isinstance(self.runtime, Mapping) else self.runtime
        if isinstance(self.runtime, str) and not registry.runtime(self.runtime).accepts(model):
            # One runtime name for both sides applies to the side that accepts it.
            name = None
        runtime = chosen_runtime(model, name)
        handle = ModelHandle(
            role=role,
            model=model,
            host=self.host,
            runtime=runtime,
            interpreter=self.interpreters.get(role, "") if runtime == name else "",
            settings=self._settings(role, runtime),
            oracle_settings=self._oracle_settings(model),
            # The temporary file is no name for the user's object.
            known_as=None if isinstance(source, (str, Path)) else f"<{type(source).__name__}>",
            form=ModelForm.FILE if isinstance(source, (str, Path)) else ModelForm.LIVE,
        )
        self.handles.append(handle)
        return handle

    def side(self, role: str, source: Any) -> ModelHandle | Replayed:  # noqa: ANN401
        """A loaded model, or a recorded trace in its place."""
        if is_trace_of_model(source):
            from isomorph.sessions.trace_session import replayed

            return replayed(role, read_record(Path(source)))
        return self.open(role, source)

    def sample(self, specs: Sequence[TensorSpec]) -> Sample | None:
        """The user's inputs, checked against a signature; None where none were given."""
        if self.arrays is None:
            return None
        feeds, origin = feeding.from_given(specs, self.arrays), self.origin
        # A single array is taken under any name; the origin mentions a name that the user gave it.
        other = [name for name in self.arrays if name not in feeds and not name.isdecimal()]
        if other and other[0] not in (UNNAMED, "arr_0"):
            origin = message("INPUT.other_name", origin=origin, given=other[0], name=specs[0].name)
        return Sample(origin=origin, feeds=feeds)

    def close(self) -> None:
        """Remove the temporary files written for workers."""
        if self._folder is not None:
            self._folder.cleanup()

    def _settings(self, role: str, runtime: str) -> dict[str, str]:
        """Settings for this side: ``candidate.key`` for one, ``key`` for each side that has it."""
        known = registry.runtime(runtime).settings
        chosen = {}
        for key, value in self.settings.items():
            side, _, own = key.rpartition(".")
            if side == role or (not side and (own in known or not self._known_elsewhere(own))):
                chosen[own] = value
        return chosen

    def _oracle_settings(self, model: Model) -> dict[str, str]:
        """Settings of the oracle: ``oracle.key`` for each side whose oracle has it."""
        known = registry.runtime(registry.framework(model.framework).oracle).settings
        chosen = {}
        for key, value in self.settings.items():
            side, _, own = key.rpartition(".")
            if side == ORACLE and (own in known or not self._known_to_an_oracle(own)):
                chosen[own] = value
        return chosen

    def _known_to_an_oracle(self, key: str) -> bool:
        oracles = {registry.framework(name).oracle for name in registry.names("frameworks")}
        return any(key in registry.runtime(name).settings for name in oracles)

    def _known_elsewhere(self, key: str) -> bool:
        return any(key in registry.runtime(name).settings for name in registry.names("runtimes"))

    def _load_live(self, source: Any) -> Model:  # noqa: ANN401
        framework = _framework_of(source)
        if self.host.isolation == "none":
            return self.host.load(source, framework, self._options_with_inputs())
        folder = self._new_folder()
        path = registry.framework(framework).hand_over(source, self.arrays or {}, folder)
        return self.host.load(str(path), framework, self.options)

    def _options_with_inputs(self) -> Mapping[str, str]:
        """The options with a file of inputs that were given as arrays: loading reads a file."""
        if self.arrays is None or "inputs" in self.options:
            return self.options
        # Only .npz holds words, and only safetensors every type of number.
        words = any(array.dtype.kind in "OUS" for array in self.arrays.values())
        path = self._new_folder() / f"inputs.{'npz' if words else 'safetensors'}"
        write_arrays(path, self.arrays)
        return {**self.options, "inputs": str(path)}

    def _new_folder(self) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="isomorph-")
        folder = Path(self._folder.name) / str(len(list(Path(self._folder.name).iterdir())))
        folder.mkdir()
        return folder


def _found_runtimes(
    stated: str | Mapping[str, str] | None,
) -> tuple[str | dict[str, str] | None, Mapping[str, str]]:
    """The names of the runtimes, for all sides or by side, and interpreters by side."""
    if stated is None:
        return None, {}
    sides = stated if isinstance(stated, Mapping) else dict.fromkeys(_SIDES, stated)
    words = {side: split_word(word) for side, word in sides.items()}
    places = {place for _, place in words.values() if place}
    paths = {place: find_interpreter(place).path for place in sorted(places)}
    names = {side: name for side, (name, _) in words.items()}
    interpreters = {side: paths[place] for side, (_, place) in words.items() if place}
    return names if isinstance(stated, Mapping) else split_word(stated)[0], interpreters


def _refuse_unknown_side(key: str) -> None:
    side, dot, own = key.rpartition(".")
    if dot and side not in _SIDES:
        raise UsageError(
            "UNKNOWN_SETTING",
            f"a setting of {printable(side)!r} was given, and there is no such side",
            why=f"known: {', '.join(_SIDES)}",
            fix=f"--set candidate.{printable(own)}=…, or without a side for both",
        )


def is_trace_of_model(source: object) -> bool:
    """Whether the source is a folder that ``isomorph trace`` wrote."""
    return (
        isinstance(source, (str, Path))
        and source_kind(source) == "recorded"
        and (is_record(Path(source)))
    )


def _framework_of(source: object) -> str:
    for name in registry.names("frameworks"):
        if registry.framework(name).claims(source):
            return name
    raise UsageError(
        "NOT_A_MODEL",
        f"a {type(source).__module__}.{type(source).__qualname__} is no model that isomorph knows",
        why=f"frameworks: {', '.join(registry.names('frameworks'))}",
    )


def _given(inputs: Any) -> tuple[str, dict[str, Array] | None]:  # noqa: ANN401
    """Where the inputs are from, and the arrays; arrays given by place are named "0", "1", …"""
    if inputs is None:
        return "generated", None
    if isinstance(inputs, (str, Path)):
        return f"file {Path(inputs).name}", dict(read_arrays(Path(inputs)))
    if isinstance(inputs, Mapping):
        return "given", {str(name): _array(value) for name, value in inputs.items()}
    if not isinstance(inputs, (list, tuple)):
        inputs = (inputs,)
    return "given", {str(place): _array(value) for place, value in enumerate(inputs)}


def _array(value: Any) -> Array:  # noqa: ANN401
    # A torch or TensorFlow tensor knows how to become an array; no framework is needed here.
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return np.asarray(value)


def recorded(source: Any) -> tuple[str, str, dict[str, Array]] | None:  # noqa: ANN401
    """Location, digest and arrays of a file of recorded outputs, if the source is one."""
    if not isinstance(source, (str, Path)) or source_kind(str(source)) != "recorded":
        return None
    path = Path(source)
    arrays = dict(read(path).tensors) if is_trace(path) else dict(read_arrays(path))
    # A trace's manifest holds the digest of every tensor, so its own digest stands for all.
    with (path / "manifest.json" if path.is_dir() else path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return str(source), f"sha256:{digest}", {name: np.asarray(a) for name, a in arrays.items()}


def trace(
    handle: ModelHandle,
    given: Sample | None,
    dims: Mapping[str, int],
    *,
    seed: int,
    fetch: Sequence[str] = (),
    everything: bool = False,
    on_progress: Callable[[str, str], None] | None = None,
) -> Trace:
    """Run once and keep the outputs, the named tensors, or all of them."""
    graph = handle.model.graph
    feeds = (
        given.feeds if given is not None else generate(graph, dims, sample=SAMPLES[0], seed=seed)
    )
    names = list(fetch) or [spec.name for spec in graph.outputs]
    if everything:
        names = [name for node in graph.nodes for name in node.outputs if name]
    names = list(dict.fromkeys(names))
    needed = refuse_without_space(handle.model, feeds, names)
    session = handle.run()
    if on_progress is not None:
        on_progress(f"run: {len(names)} tensors, at least {readable(needed)} on disk", "")
    result = session.run(feeds, names)
    flat = {key: value for name in result for key, value in flatten(name, result[name]).items()}
    return Trace(environment=session.environment, tensors=flat)

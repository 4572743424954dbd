"""ONNX Runtime with its default settings unless others are given; any tensor is fed or fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.core.cutting import refuse_noise, unfed_inputs
from isomorph.core.errors import IsomorphError
from isomorph.core.execution import (
    LOG_LINES,
    OPTIMIZERS_THAT_RAN,
    PROVIDERS_ASKED,
    PROVIDERS_USED,
    Switch,
)
from isomorph.core.kept_pieces import KeptPieces
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.onnx.ort_settings import DEFAULTS

if TYPE_CHECKING:
    from isomorph.core.execution import OpensElsewhere
    from isomorph.core.extraction import ScriptSource
    from isomorph.core.model import Model
    from isomorph.core.trace import Arrays, Value
    from isomorph.frameworks.onnx.cut import Slice
    from isomorph.frameworks.onnx.ort_session import Opening
    from isomorph.frameworks.onnx.ort_settings import Settings

KEPT_PIECES = 8
"""Sub-models that stay open: a bisection comes back to the same few cuts."""

_EXCHANGE = (
    "import numpy, onnxruntime; onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(2)).numpy()"
)
"""What shows that a release works with the NumPy beside it."""


class OnnxRuntime:
    """ONNX Runtime with its own optimizer, providers and threads."""

    name = "onnxruntime"
    extra: str | None = None
    worker = "onnxruntime"
    packages: Mapping[str, str] = {"onnxruntime": _EXCHANGE, "onnxruntime-gpu": _EXCHANGE}
    settings: Mapping[str, str] = DEFAULTS
    plain: Mapping[str, str] = {"optimization": "none"}
    library_settings = frozenset({"custom_ops"})
    switches = (
        Switch(name="an optimizer beyond those of layout", settings={"optimization": "layout"}),
        Switch(name="an optimizer of layout", settings={"optimization": "extended"}),
        Switch(name="an extended optimizer", settings={"optimization": "basic"}),
        Switch(name="a basic optimizer", settings={"optimization": "none"}),
    )

    def optimizer_switches(self, facts: Mapping[str, str]) -> tuple[Switch, ...]:
        """Each optimizer that changed the model, as a switch."""
        ran = [name for name in facts.get(OPTIMIZERS_THAT_RAN, "").split(", ") if name]
        return tuple(Switch(name=name, settings={"disable_optimizers": name}) for name in ran)

    def settings_code(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Lines of Python that apply these settings."""
        from isomorph.frameworks.onnx.ort_settings import as_code

        return as_code(settings)

    def script_source(self, model: Model, settings: Mapping[str, str]) -> ScriptSource | None:
        """How a script runs a model under these settings."""
        del model
        from isomorph.frameworks.onnx.ort_import import onnxruntime
        from isomorph.frameworks.onnx.ort_settings import settings_of
        from isomorph.frameworks.onnx.script_source import script_source

        return script_source(settings_of(settings, None, onnxruntime("a script")))

    def abilities(self) -> Mapping[str, object]:
        """The opsets that it opens, and the types of its kernels."""
        from isomorph.frameworks.onnx.ort_kernels import kernel_types
        from isomorph.frameworks.onnx.schemas import OLDEST_OPSET, runtime_limits

        return {"opsets": (OLDEST_OPSET, runtime_limits()[0]), "kernels": kernel_types()}

    def accepts(self, model: Model) -> bool:
        """Only ONNX models."""
        return model.framework == "onnx"

    def open(self, model: Model, environment: Environment) -> OnnxSession:
        """Open the file as it would be deployed; cuts are made when a run first needs them."""
        from isomorph.frameworks.onnx.ort_import import onnxruntime

        ort = onnxruntime("runtime 'onnxruntime'")
        from isomorph.frameworks.onnx.ort_errors import refuse_unknown
        from isomorph.frameworks.onnx.ort_settings import settings_of

        settings = settings_of(environment.settings, environment.threads, ort)
        if not settings.custom_ops:
            refuse_unknown(model.native.outline, file=model.location)
        return OnnxSession(model=model, environment=environment, settings=settings, ort=ort)

    def open_elsewhere(
        self, model: Model, environment: Environment, elsewhere: OpensElsewhere
    ) -> OnnxSession:
        """The same with the ONNX Runtime of another environment, which needs NumPy beside."""
        from isomorph.frameworks.onnx.ort_elsewhere import OrtElsewhere
        from isomorph.frameworks.onnx.ort_settings import settings_of

        ort = OrtElsewhere(elsewhere)
        settings = settings_of(environment.settings, environment.threads, ort)
        return OnnxSession(model=model, environment=environment, settings=settings, ort=ort)


class OnnxSession:
    """One loaded model. What only feeds inputs and fetches outputs runs the deployed session."""

    capabilities = Capabilities(fetch="all", feed="all")

    def __init__(
        self,
        *,
        model: Model,
        environment: Environment,
        settings: Settings,
        ort: Any,  # noqa: ANN401
    ) -> None:
        from isomorph.frameworks.onnx.cut import Cutter
        from isomorph.frameworks.onnx.ort_session import open_deployed

        self._model, self._settings, self._ort = model, settings, ort
        self._pieces: KeptPieces[Opening] = KeptPieces(KEPT_PIECES)
        self._cutter = Cutter(model.native)
        self._deployed = open_deployed(ort, settings, model.native, file=model.location)
        self.environment = self._completed(environment)

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any top-level tensor."""
        from isomorph.frameworks.onnx.ort_values import as_value, check_feed
        from isomorph.store.dtypes import same_bits

        refuse_noise(noise, "ONNX Runtime")
        wanted = tuple(dict.fromkeys(fetch))
        self._cutter.check((*feeds, *wanted))
        feeds = {name: as_value(value) for name, value in feeds.items()}
        for name, value in feeds.items():
            check_feed(name, value, self._model.graph.tensors.get(name))
        # A constant that is fed its own value stays one: ONNX Runtime packs constant weights
        # ahead, and the same numbers as an input take another kernel.
        feeds = {
            name: value
            for name, value in feeds.items()
            if not same_bits(value, self._cutter.constant(name))
        }
        found: dict[str, Value] = {name: feeds[name] for name in wanted if name in feeds}
        stored = [name for name in wanted if name in self._cutter.stored and name not in feeds]
        found.update({name: self._model.native.initializer(name) for name in stored})
        found.update(self._computed(feeds, [name for name in wanted if name not in found]))
        return {name: found[name] for name in wanted}

    def close(self) -> None:
        """Let go of every session."""
        self._pieces.clear()
        del self._deployed

    def _computed(self, feeds: Arrays, fetch: list[str]) -> dict[str, Value]:
        if not fetch:
            return {}
        cutter = self._cutter
        given, inputs = set(feeds), set(cutter.inputs)
        if cutter.required <= given <= inputs and set(fetch) <= set(cutter.outputs):
            return self._fetched(self._deployed, feeds, fetch)
        from isomorph.frameworks.onnx.fetch_batches import batches, bound_sizes, estimated_bytes
        from isomorph.frameworks.onnx.ort_values import feedable
        from isomorph.store.spill import byte_budget, spilled

        specs = self._model.graph.tensors
        sizes, largest = bound_sizes(specs, feeds)
        estimates = {name: estimated_bytes(specs.get(name), sizes, largest) for name in fetch}
        parts = batches(cutter, fetch, estimates, byte_budget())
        found: dict[str, Value] = {}
        for part in parts:
            # What is already known is fed, so every node runs once however many batches there are.
            known = {**{name: value for name, value in found.items() if feedable(value)}, **feeds}
            values = self._cut(known, part, keep=len(parts) == 1)
            found.update(
                values
                if len(parts) == 1
                else {name: spilled(value) for name, value in values.items()}
            )
        return found

    def _cut(self, known: Arrays, fetch: list[str], *, keep: bool) -> dict[str, Value]:
        piece = self._cutter.slice(known, fetch)
        if piece.inputs:
            raise unfed_inputs(piece.inputs, fetch[0], file=self._model.location)
        used = {name for index in piece.nodes for name in self._cutter.reads[index]}
        feeds = {name: value for name, value in known.items() if name in used}
        kinds = tuple(sorted((name, _kind(value)) for name, value in feeds.items()))
        key = (kinds, tuple(fetch))
        opening = self._pieces.get(key, lambda: self._open_piece(piece, feeds, fetch))
        found = self._fetched(opening, feeds, fetch)
        if not keep:
            # An open piece holds on to the memory that it computed in.
            self._pieces.release(key)
        return found

    def _open_piece(self, piece: Slice, feeds: Arrays, fetch: list[str]) -> Opening:
        from isomorph.frameworks.onnx.ort_session import open_proto
        from isomorph.frameworks.onnx.ort_values import type_proto

        specs = self._model.graph.tensors
        types = {name: type_proto(value, specs.get(name), name) for name, value in feeds.items()}
        proto = self._cutter.build(piece, types, fetch)
        native, file = self._model.native, self._model.location
        return open_proto(self._ort, self._settings, native, proto, file=file)

    def _fetched(self, opening: Opening, feeds: Arrays, fetch: list[str]) -> dict[str, Value]:
        from isomorph.frameworks.onnx.ort_errors import running_failed
        from isomorph.frameworks.onnx.ort_values import fed, fetched

        given = {name: fed(self._ort, value) for name, value in feeds.items()}
        try:
            return fetched(self._ort, opening.session, given, fetch)
        except IsomorphError:
            raise  # the process of another environment has died
        except Exception as error:
            raise running_failed(error, file=self._model.location) from error

    def _completed(self, asked: Environment) -> Environment:
        """What was asked for, and what ONNX Runtime really does about it."""
        ort, settings = self._ort, self._settings
        used = self._deployed.session.get_providers()
        facts = {
            PROVIDERS_ASKED: ", ".join(settings.providers),
            PROVIDERS_USED: ", ".join(used),
            "providers available": ", ".join(ort.get_available_providers()),
            "optimization": settings.words["optimization"],
            "opened from": self._deployed.origin,
        }
        if not self._deployed.packs:
            facts["weights"] = "read from their files; packed copies would not fit into memory"
        if any(spec.dtype == "float16" for spec in self._model.graph.tensors.values()):
            facts["float16"] = (
                "nodes without a float16 kernel are computed in float32, and such neighbors "
                "hand each other values that were not rounded to float16"
            )
        if settings.words["name_optimizers"] == "yes":
            from isomorph.frameworks.onnx.ort_optimizers import optimizers_that_ran

            ran = optimizers_that_ran(ort, settings, self._model.native, file=self._model.location)
            facts[OPTIMIZERS_THAT_RAN] = ", ".join(ran)
        if settings.about:
            from isomorph.frameworks.onnx.ort_log import log_about

            lines = log_about(ort, settings, self._model.native, file=self._model.location)
            facts[LOG_LINES] = "\n".join(lines)
        if settings.disabled:
            # ONNX Runtime ignores names it does not know, and has no list to check against.
            facts["optimizers disabled, if known"] = ", ".join(settings.disabled)
        return replace(
            asked,
            version=ort.__version__,
            device=used[0].removesuffix("ExecutionProvider").lower(),
            threads=settings.threads,
            settings=settings.words,
            facts={**asked.facts, **facts},
        )


def _kind(value: Value) -> str:
    """What a cut must be built for: the element type, or the sort of container."""
    dtype = getattr(value, "dtype", None)
    return str(dtype) if dtype is not None else type(value).__name__

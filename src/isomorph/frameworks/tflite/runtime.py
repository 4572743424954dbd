"""LiteRT, the runtime of TFLite models, with its default settings unless others are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.execution import Switch
from isomorph.core.lazy import require
from isomorph.core.settings import chosen, thread_count

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptSource
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment

_VALUES = {"xnnpack": ("on", "off"), "kernels": ("default", "reference")}

_EXCHANGE = "import ai_edge_litert.interpreter"
"""What shows that a release works with the NumPy beside it."""


class TfliteRuntime:
    """LiteRT with XNNPACK, with its own kernels, or with the reference kernels."""

    name = "tflite"
    extra: str | None = "tflite"
    worker = "tflite"
    packages: Mapping[str, str] = {"ai-edge-litert": _EXCHANGE}
    settings: Mapping[str, str] = {"xnnpack": "on", "kernels": "default", "threads": ""}
    # The reference kernels are another arithmetic, not another graph: an experiment of its own.
    plain: Mapping[str, str] = {"xnnpack": "off"}
    switches = (
        Switch(name="XNNPACK", settings={"xnnpack": "off"}),
        Switch(
            name="the reference kernels",
            settings={"xnnpack": "off", "kernels": "reference"},
            kind="kernel",
        ),
    )

    def settings_code(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Lines of Python that apply these settings."""
        kind = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
        if settings.get("kernels") == "reference":
            kind = "BUILTIN_REF"
        lines = []
        if settings.get("xnnpack") == "off" or kind == "BUILTIN_REF":
            lines.append(f"Interpreter(path, experimental_op_resolver_type=OpResolverType.{kind})")
        if settings.get("threads"):
            lines.append(f"Interpreter(path, num_threads={settings['threads']})")
        return tuple(lines)

    def script_source(self, model: Model, settings: Mapping[str, str]) -> ScriptSource | None:
        """How a script runs a model under these settings."""
        del model
        from isomorph.frameworks.tflite.script_source import script_source

        return script_source({**self.settings, **settings})

    def abilities(self) -> Mapping[str, object]:
        """The types that it computes with."""
        require("ai_edge_litert", extra="tflite", needed_for="runtime 'tflite'")
        from isomorph.frameworks.tflite.supported_types import computed_types

        return {"types": computed_types()}

    def accepts(self, model: Model) -> bool:
        """Only TFLite models."""
        return model.framework == "tflite"

    def open(self, model: Model, environment: Environment) -> Session:
        """Open the file as it would be deployed; cuts are made when a run first needs them."""
        require("ai_edge_litert", extra="tflite", needed_for="runtime 'tflite'")
        from isomorph.frameworks.tflite.interpreter import Settings
        from isomorph.frameworks.tflite.session import TfliteSession

        words = {**self.settings, **environment.settings}
        for key, known in _VALUES.items():
            chosen(self.name, words, key, known)
        settings = Settings(
            xnnpack=words["xnnpack"],
            kernels=words["kernels"],
            threads=thread_count(words["threads"]) or environment.threads or 1,
        )
        return TfliteSession(model, replace(environment, settings=words), settings)

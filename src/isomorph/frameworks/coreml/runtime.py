"""Core ML itself, through Core ML Tools; it runs on macOS alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.execution import Switch
from isomorph.core.lazy import require
from isomorph.core.settings import chosen

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment

_MACOS = "darwin"
_UNITS = ("all", "cpu_only", "cpu_and_gpu", "cpu_and_ne")


class CoremlRuntime:
    """The framework of the operating system, on the units that a setting names."""

    name = "coreml"
    extra: str | None = "coreml"
    worker = "coreml"
    settings: Mapping[str, str] = {"compute_units": "all"}
    plain: Mapping[str, str] = {}
    switches = (
        Switch(
            name="the GPU and the Neural Engine",
            settings={"compute_units": "cpu_only"},
            kind="kernel",
        ),
    )

    def unavailable(self) -> str:
        """Core ML is a part of macOS."""
        return "" if sys.platform == _MACOS else "Core ML needs macOS"

    def settings_code(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Lines of Python that apply these settings."""
        units = settings.get("compute_units", "all").upper()
        return (f"MLModel(path, compute_units=coremltools.ComputeUnit.{units})",)

    def accepts(self, model: Model) -> bool:
        """Only Core ML models."""
        return model.framework == "coreml"

    def open(self, model: Model, environment: Environment) -> Session:
        """Compile and load the model; on another system there is nothing that could."""
        if why := self.unavailable():
            raise RuntimeFailedError(
                "RUNTIME_UNAVAILABLE",
                f"runtime 'coreml' cannot run on this machine: {why}",
                file=model.location,
                fix="record a run on a Mac with isomorph trace and compare that, or ask about the "
                "graphs alone with isomorph check --translation-only",
            )
        words = {**self.settings, **environment.settings}
        chosen(self.name, words, "compute_units", _UNITS)
        tools = require("coremltools", extra="coreml", needed_for="runtime 'coreml'")
        from isomorph.frameworks.coreml.session import CoremlSession

        return CoremlSession(tools, model, replace(environment, settings=words))

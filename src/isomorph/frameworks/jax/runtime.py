"""JAX on the CPU: the exported function as JAX calls it, and cuts of it compiled by XLA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isomorph.core.execution import Switch
from isomorph.core.lazy import require
from isomorph.core.settings import chosen

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptSource
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment

PASSES: Mapping[str, str] = {
    "default": "",
    "unfused": "fusion",
    "none": "fusion,algsimp,constant_folding,reassociate",
}
"""What the compiler leaves out under each word of ``optimization``."""

_VALUES = {
    "optimization": tuple(PASSES),
    "matmul_precision": ("default", "high", "highest"),
}

_EXCHANGE = "import numpy, jax.numpy; numpy.asarray(jax.numpy.asarray(numpy.zeros(2)))"
"""What shows that a release works with the NumPy beside it."""


class JaxRuntime:
    """XLA's compiler for CPUs, with its fusions or without them."""

    name = "jax"
    extra: str | None = "jax"
    worker = "jax"
    packages: Mapping[str, str] = {"jax": _EXCHANGE}
    settings: Mapping[str, str] = {"optimization": "default", "matmul_precision": "default"}
    plain: Mapping[str, str] = {"optimization": "none"}
    switches = (
        Switch(name="a fusion of XLA", settings={"optimization": "unfused"}),
        Switch(name="a simplification of XLA", settings={"optimization": "none"}),
    )

    def settings_code(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Lines of Python that apply these settings."""
        lines = []
        if passes := PASSES.get(settings.get("optimization", "default")):
            options = f'{{"xla_disable_hlo_passes": "{passes}"}}'
            lines.append(f"jax.jit(exported.call, compiler_options={options})")
        if (word := settings.get("matmul_precision", "default")) != "default":
            lines.append(f"jax.config.update('jax_default_matmul_precision', {word!r})")
        return tuple(lines)

    def script_source(self, model: Model, settings: Mapping[str, str]) -> ScriptSource | None:
        """How a script runs a function under these settings."""
        del model
        from isomorph.frameworks.jax.script_source import script_source

        words = {**self.settings, **settings}
        return script_source(PASSES[words["optimization"]], words["matmul_precision"])

    def accepts(self, model: Model) -> bool:
        """Only functions of JAX."""
        return model.framework == "jax"

    def open(self, model: Model, environment: Environment) -> Session:
        """Compile nothing yet; refuse what would call a library that is not known to be safe."""
        require("jax", extra="jax", needed_for="runtime 'jax'")
        from isomorph.frameworks.jax.session import JaxSession

        words = {**self.settings, **environment.settings}
        for key, known in _VALUES.items():
            chosen(self.name, words, key, known)
        return JaxSession(model, environment, words)

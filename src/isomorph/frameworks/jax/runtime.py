"""JAX itself: the exported function as JAX calls it, and cuts of it compiled by XLA."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from isomorph.core.execution import Switch
from isomorph.core.lazy import require
from isomorph.core.settings import chosen
from isomorph.frameworks.jax.script_source import place_lines, script_source

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptSource
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment

_FUSIONS = (
    "fusion,priority-fusion,multi_output_fusion,gpu_horizontal_loop_fusion,"
    "gpu_horizontal_input_fusion"
)
PASSES: Mapping[str, str] = {
    "default": "",
    "unfused": _FUSIONS,
    "none": f"{_FUSIONS},algsimp,constant_folding,reassociate",
}
"""What the compiler leaves out under each word of ``optimization``; a pass that the compiler of a
device does not have is none to leave out."""

_VALUES = {
    "optimization": tuple(PASSES),
    "matmul_precision": ("default", "high", "highest"),
}

_EXCHANGE = "import numpy, jax.numpy; numpy.asarray(jax.numpy.asarray(numpy.zeros(2)))"
"""What shows that a release works with the NumPy beside it."""


class JaxRuntime:
    """XLA's compiler for the CPU or CUDA, with its fusions or without them."""

    name = "jax"
    extra: str | None = "jax"
    worker = "jax"
    packages: Mapping[str, str] = {"jax": _EXCHANGE}
    settings: Mapping[str, str] = {
        "device": "cpu",
        "optimization": "default",
        "matmul_precision": "default",
    }
    plain: Mapping[str, str] = {"optimization": "none"}
    switches = (
        Switch(name="a fusion of XLA", settings={"optimization": "unfused"}),
        Switch(name="a simplification of XLA", settings={"optimization": "none"}),
        Switch(
            name="TF32 off", settings={"matmul_precision": "highest"},
            kind="precision", dtype="tf32", device="cuda",
        ),
    )  # fmt: skip

    def requested_dtype(self, settings: Mapping[str, str]) -> str:
        """TF32 where CUDA is asked for products of less than the highest precision."""
        asked = settings["matmul_precision"] == "high" and settings["device"].startswith("cuda")
        return "tf32" if asked else ""

    def variables(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """On a GPU, both sides of a check share its memory: no process takes most of it at once."""
        on_cuda = settings.get("device", "cpu").startswith("cuda")
        return {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if on_cuda else {}

    def settings_code(self, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Lines of Python that apply these settings."""
        lines = list(place_lines(settings["device"])) if "device" in settings else []
        if passes := PASSES[settings.get("optimization", "default")]:
            options = f'{{"xla_disable_hlo_passes": "{passes}"}}'
            lines.append(f"jax.jit(exported.call, compiler_options={options})")
        if (word := settings.get("matmul_precision", "default")) != "default":
            line = f"jax.config.update('jax_default_matmul_precision', {word!r})"
            lines.append(f"{line}  # before jax.export")
        return tuple(lines)

    def script_source(self, model: Model, settings: Mapping[str, str]) -> ScriptSource | None:
        """How a script runs a function under these settings; not with another precision.

        The file states the precision of its products, which matters where there is more than one.
        """
        del model
        words = {**self.settings, **settings}
        if words["matmul_precision"] != "default" and words["device"] != "cpu":
            return None
        return script_source(PASSES[words["optimization"]], words["device"])

    def accepts(self, model: Model) -> bool:
        """Only functions of JAX."""
        return model.framework == "jax"

    def open(self, model: Model, environment: Environment) -> Session:
        """Compile nothing yet; refuse what would call a library that is not known to be safe."""
        jax = require("jax", extra="jax", needed_for="runtime 'jax'")
        words = {**self.settings, **environment.settings}
        for key, known in _VALUES.items():
            chosen(self.name, words, key, known)
        os.environ.update(self.variables(words))
        if environment.isolation == "process" and words["device"] == "cpu":
            # A process of ours on the CPU leaves the memory of GPUs to others.
            jax.config.update("jax_platforms", "cpu")
        from isomorph.frameworks.jax.session import JaxSession, usable_device

        return JaxSession(model, environment, words, usable_device(words["device"]))

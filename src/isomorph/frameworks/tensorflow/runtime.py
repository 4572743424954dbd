"""TensorFlow itself, with its default settings unless others are given."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.execution import Switch
from isomorph.core.settings import chosen, thread_count
from isomorph.frameworks.tensorflow.silence_logs import import_tensorflow

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptSource
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment

_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")

_EXCHANGE = "import numpy, tensorflow; tensorflow.constant(numpy.zeros(2)).numpy()"
"""What shows that a release works with the NumPy beside it."""


class TensorflowRuntime:
    """The deployed function with its own variables; cuts are made from the frozen graph."""

    name = "tensorflow"
    extra = "tensorflow"
    worker = "tensorflow"
    packages: Mapping[str, str] = {"tensorflow": _EXCHANGE, "tensorflow-cpu": _EXCHANGE}
    settings: Mapping[str, str] = {
        "mode": "graph",
        "xla": "no",
        "onednn": "default",
        "grappler": "on",
        "threads": "",
    }
    plain: Mapping[str, str] = {"grappler": "off", "xla": "no"}
    switches = (
        Switch(name="XLA", settings={"xla": "no"}),
        Switch(name="grappler", settings={"grappler": "off"}),
        Switch(name="the kernels without oneDNN", settings={"onednn": "off"}, kind="kernel"),
    )

    def script_source(self, model: Model, settings: Mapping[str, str]) -> ScriptSource | None:
        """How a script runs a model under these settings."""
        del model
        from isomorph.frameworks.tensorflow.script_source import script_source

        return script_source({**self.settings, **settings}, self.variables(settings))

    def accepts(self, model: Model) -> bool:
        """Only TensorFlow models."""
        return model.framework == "tensorflow"

    def variables(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        """What must stand in a process's environment before TensorFlow is imported there."""
        words = {**self.settings, **settings}
        wanted = {}
        if chosen(self.name, words, "onednn", ("default", "on", "off")) != "default":
            wanted[_ONEDNN] = "1" if words["onednn"] == "on" else "0"
        if (threads := thread_count(words["threads"])) is not None:
            wanted |= dict.fromkeys(_THREADS, str(threads))
        return wanted

    def open(self, model: Model, environment: Environment) -> Session:
        """Cuts are traced when a run first needs them."""
        settings = {**self.settings, **environment.settings}
        _prepare(self.variables(settings))
        tf = import_tensorflow("runtime 'tensorflow'")
        from isomorph.frameworks.tensorflow.session import TfSession

        threads = thread_count(settings["threads"])
        eager = chosen(self.name, settings, "mode", ("graph", "eager")) == "eager"
        compiled = chosen(self.name, settings, "xla", ("no", "yes")) == "yes"
        if eager and compiled:
            raise UsageError(
                "BAD_SETTING", "mode=eager and xla=yes exclude each other",
                why="XLA compiles graphs", fix="--set mode=graph --set xla=yes",
            )  # fmt: skip
        grappler = chosen(self.name, settings, "grappler", ("on", "off")) == "on"
        return TfSession(
            model.native,
            replace(
                environment,
                version=str(tf.__version__),
                threads=threads or os.cpu_count(),
                settings=settings,
                facts=_facts(eager=eager, compiled=compiled, grappler=grappler),
            ),
            eager=eager,
            grappler=grappler,
            compiled=compiled,
        )


def _prepare(wanted: Mapping[str, str]) -> None:
    """TensorFlow reads these once, when it is imported; afterwards they only pretend.

    A worker was started with them. Without one, it may be too late.
    """
    if "tensorflow" not in sys.modules:
        os.environ.update(wanted)
        return
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            raise RuntimeFailedError(
                "FRESH_PROCESS_NEEDED", f"{name}={value} comes too late for this process",
                why="TensorFlow reads it when it is imported, and it is imported already",
                fix="leave --in-process out, so that a worker is started with it, or put "
                f"{name}={value} into the environment that isomorph is started in",
            )  # fmt: skip


def _facts(*, eager: bool, compiled: bool, grappler: bool) -> dict[str, str]:
    return {
        "execution": "eager" if eager else "graph",
        "onednn": "on" if _onednn_is_on() else "off",
        "xla": "on" if compiled else "off",
        "grappler": "off" if eager else "on" if grappler else "off",
    }


def _onednn_is_on() -> bool:
    from tensorflow.python.util import _pywrap_util_port

    return bool(_pywrap_util_port.IsMklEnabled())

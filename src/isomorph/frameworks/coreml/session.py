"""One model in Core ML: from its inputs to its outputs."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.cutting import refuse_noise, require_whole_run
from isomorph.core.errors import RuntimeFailedError, message_lines
from isomorph.core.last_node import leave
from isomorph.core.trace import Capabilities
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Arrays, Environment, Noise


class CoremlSession:
    """A compiled model, which takes and gives a dict of arrays.

    Core ML fetches no inner tensor: localization relies on the oracle.
    """

    capabilities = Capabilities(fetch="outputs", feed="inputs")

    def __init__(self, tools: Any, model: Model, environment: Environment) -> None:  # noqa: ANN401
        units = getattr(tools.ComputeUnit, environment.settings["compute_units"].upper())
        try:
            self._model = tools.models.MLModel(str(model.location), compute_units=units)
        except (RuntimeError, ValueError, OSError) as error:
            raise _failed("Core ML refuses the model", error, model) from error
        self._described, self._graph = model, model.graph
        self.environment = replace(
            environment,
            version=f"{tools.__version__}, macOS {platform.mac_ver()[0]}",
            device=environment.settings["compute_units"],
        )

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Predict; results in the types that the program declares."""
        refuse_noise(noise, "Core ML")
        inputs = [spec.name for spec in self._graph.inputs]
        require_whole_run(
            feeds, fetch, (inputs, [spec.name for spec in self._graph.outputs]),
            why="Core ML runs a model whole", fix="fetch tensors of its oracle",
            file=self._described.location,
        )  # fmt: skip
        given = {name: np.asarray(feeds[name]) for name in inputs}
        leave("the whole model")
        try:
            found = self._model.predict(given)
        except (RuntimeError, ValueError, OSError) as error:
            raise _failed("Core ML could not run the model", error, self._described) from error
        return {name: self._declared(name, found) for name in fetch}

    def close(self) -> None:
        """Let go of the compiled model."""
        self._model = None

    def _declared(self, name: str, found: Any) -> Any:  # noqa: ANN401
        if name not in found:
            raise RuntimeFailedError(
                "NODE_FAILED", f"Core ML returned no output {name!r}",
                file=self._described.location,
            )  # fmt: skip
        dtype = self._graph.declared_dtype(name)
        array = np.asarray(found[name])
        return array if dtype is None else array.astype(numpy_dtype(dtype), copy=False)


def _failed(what: str, error: Exception, model: Model) -> RuntimeFailedError:
    return RuntimeFailedError(
        "NODE_FAILED", f"{what}:", file=model.location,
        why="; ".join(message_lines(error)[:3]) or type(error).__name__,
    )  # fmt: skip

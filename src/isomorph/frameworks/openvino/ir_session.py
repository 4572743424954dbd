"""An OpenVINO model in OpenVINO: the whole as deployed, or layer by layer where one looks inside.

A layer that is looked at is cut out of the file and compiled by itself, with the constants that it
reads: so every tensor can be fed and fetched, and is the same whatever else is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.cutting import unfed_inputs, unknown_tensor
from isomorph.core.errors import UsageError
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.core.untrusted_xml import written
from isomorph.frameworks.openvino.compile import Compiled, compiled, completed, configuration
from isomorph.frameworks.openvino.cut import Cutter
from isomorph.frameworks.openvino.save import serialized
from isomorph.frameworks.openvino.weights import array_of

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Array, Arrays


class OpenvinoIrSession:
    """The deployed model, and single layers compiled when first asked for."""

    capabilities = Capabilities(fetch="all", feed="all")

    def __init__(
        self,
        model: Model,
        environment: Environment,
        settings: Mapping[str, str],
        openvino: Any,  # noqa: ANN401
    ) -> None:
        self._native, self._file = model.native, model.location
        self._openvino, self._core = openvino, openvino.Core()
        self._config = configuration(settings)
        graph = self._native.graph
        self._cutter = Cutter(graph, self._native.weights)
        self._stored = {layer.outputs[0].name: layer for layer in graph.constants}
        self._own: dict[str, Array] = {}
        self._parts: dict[tuple[Any, ...], Compiled] = {}
        self._deployed = self._compiled(*serialized(self._native), graph.inputs, graph.results)
        self.environment = completed(
            environment, settings, openvino, self._core, self._deployed.native,
            inside="every layer that is looked at is compiled by itself",
        )  # fmt: skip

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any top-level tensor."""
        if noise is not None:
            raise UsageError("NO_NOISE", "only an oracle can be disturbed, not OpenVINO")
        for name in (*feeds, *fetch):
            if name not in self._cutter.ports:
                raise unknown_tensor(name, self._cutter.ports)
        given = {name: self._accepted(name, np.asarray(value)) for name, value in feeds.items()}
        found: dict[str, Array] = dict(given)
        found |= {n: array_of(self._native, self._stored[n]) for n in fetch
                  if n in self._stored and n not in given}  # fmt: skip
        wanted = [name for name in dict.fromkeys(fetch) if name not in found]
        graph = self._native.graph
        if set(given) == set(graph.inputs) and set(wanted) <= set(graph.results):
            found |= self._deployed.run(given, file=self._file)
        elif wanted:
            found |= self._layer_by_layer(given, wanted)
        return {name: found[name] for name in fetch}

    def close(self) -> None:
        """Let go of everything compiled."""
        self._parts.clear()
        del self._deployed

    def _layer_by_layer(
        self, given: Mapping[str, Array], wanted: Sequence[str]
    ) -> dict[str, Array]:
        cutter, found = self._cutter, given
        given = {name: value for name, value in given.items() if not self._is_own(name, value)}
        wanted = [name for name in wanted if name not in found]
        layers, missing = cutter.layers(given, wanted)
        if missing:
            raise unfed_inputs(missing, wanted[0], file=self._file)
        # Axes and sizes stay constants of a part: OpenVINO compiles few layers without them.
        fixed = cutter.fixed_beside(given) if cutter.fixed & given.keys() else cutter.fixed
        known = {**found}
        for layer in layers:
            outputs = [port.name for port in layer.outputs if port.name not in given]
            if not fixed.issuperset(outputs):
                read = {name: known[name] for name in layer.inputs if name not in fixed}
                known |= self._part(layer.id, read, outputs)
        late = [name for name in wanted if name not in known]
        return {**known, **(self._part(-1, {}, late) if late else {})}

    def _is_own(self, name: str, value: Array) -> bool:
        """Whether a fed constant has its own value: then layers read it as the file states it."""
        if name not in self._cutter.fixed:
            return False
        if name not in self._own:
            stored = self._stored.get(name)
            made = self._part(-1, {}, [name]) if stored is None else {}
            self._own[name] = made[name] if stored is None else array_of(self._native, stored)
        own = self._own[name]
        return own.dtype == value.dtype and own.tobytes() == value.tobytes()

    def _part(
        self, key: int, given: Mapping[str, Array], wanted: Sequence[str]
    ) -> dict[str, Array]:
        cutter = self._cutter
        stored = {n: v for n, v in given.items() if n in cutter.fixed and v.dtype.kind in "iub"}
        free = {name: value for name, value in given.items() if name not in stored}
        place = (
            key,
            tuple((name, value.shape) for name, value in free.items()),
            tuple((name, value.shape, value.tobytes()) for name, value in stored.items()),
            tuple(wanted),
        )
        if place not in self._parts:
            shapes = {name: value.shape for name, value in free.items()}
            root, weights = cutter.part(shapes, wanted, stored)
            self._parts[place] = self._compiled(written(root), weights, tuple(free), wanted)
        return self._parts[place].run(free, file=self._file)

    def _compiled(
        self, text: bytes, weights: bytes, inputs: Sequence[str], outputs: Sequence[str]
    ) -> Compiled:
        ov = self._openvino

        def read() -> Any:  # noqa: ANN401
            held = np.frombuffer(weights or b"\0", np.uint8)
            return self._core.read_model(text, ov.Tensor(held.copy()))

        return compiled(self._core, read, self._config, (inputs, outputs), file=self._file)

    def _accepted(self, name: str, value: Array) -> Array:
        declared = self._cutter.ports[name].dtype
        if declared is not None and value.dtype.name != declared:
            raise UsageError(
                "FEED_DTYPE",
                f"tensor {name!r} is {declared} and was fed {value.dtype.name}",
                file=self._file,
                fix=f"convert it to {declared} first",
            )
        return value

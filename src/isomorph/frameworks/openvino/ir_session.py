"""An OpenVINO model in OpenVINO: the whole as deployed, or layer by layer where one looks inside.

A layer that is looked at is cut out of the file and compiled by itself, with the constants that it
reads: so every tensor can be fed and fetched, and is the same whatever else is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.cutting import require_known, unfed_inputs
from isomorph.core.errors import UsageError
from isomorph.core.untrusted_xml import written
from isomorph.frameworks.openvino.compiled_session import CompiledSession
from isomorph.frameworks.openvino.cut import Cutter
from isomorph.frameworks.openvino.save import serialized
from isomorph.frameworks.openvino.weights import array_of

if TYPE_CHECKING:
    from isomorph.core.trace import Array


class OpenvinoIrSession(CompiledSession):
    """The deployed model, and single layers compiled when first asked for."""

    inside = "every layer that is looked at is compiled by itself"

    def deployed(self) -> tuple[Any, Sequence[str], Sequence[str]]:
        """The model as its files state it."""
        self._native = self._model.native
        graph = self._native.graph
        self._cutter = Cutter(graph, self._native.weights)
        self._own: dict[str, Array] = {}
        return self._reading(*serialized(self._native)), graph.inputs, graph.results

    def check(self, names: Sequence[str]) -> None:
        """Any top-level tensor may be fed and fetched."""
        require_known(names, self._cutter.ports)

    def accepted(self, name: str, value: Array) -> Array:
        """A value of the declared type."""
        declared = self._cutter.ports[name].dtype
        if declared is not None and value.dtype.name != declared:
            raise UsageError(
                "FEED_DTYPE",
                f"tensor {name!r} is {declared} and was fed {value.dtype.name}",
                file=self._file,
                fix=f"convert it to {declared} first",
            )
        return value

    def stored(self, name: str) -> Array | None:
        """The value of a constant."""
        layer = self._native.graph.stored.get(name)
        return None if layer is None else array_of(self._native, layer)

    def computed(self, given: dict[str, Array], wanted: list[str]) -> dict[str, Array]:
        """Layer by layer."""
        cutter, known = self._cutter, dict(given)
        given = {name: value for name, value in given.items() if not self._is_own(name, value)}
        layers, missing = cutter.layers(given, wanted)
        if missing:
            raise unfed_inputs(missing, wanted[0], file=self._file)
        # Axes and sizes stay constants of a part: OpenVINO compiles few layers without them.
        fixed = cutter.fixed_beside(given) if cutter.fixed & given.keys() else cutter.fixed
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
            stored = self.stored(name)
            self._own[name] = self._part(-1, {}, [name])[name] if stored is None else stored
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
        if place not in self._pieces:
            shapes = {name: value.shape for name, value in free.items()}
            root, weights = cutter.part(shapes, wanted, stored)
            source = self._reading(written(root), weights)
            self._pieces[place] = self._compiled(source, tuple(free), wanted)
        return self._pieces[place].run(free, file=self._file)

    def _reading(self, text: bytes, weights: bytes) -> Callable[[], Any]:
        def read() -> Any:  # noqa: ANN401
            held = np.frombuffer(weights or b"\0", np.uint8)
            return self._core.read_model(text, self._openvino.Tensor(held.copy()))

        return read

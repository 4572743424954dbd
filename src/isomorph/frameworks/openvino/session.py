"""One ONNX model in OpenVINO: the whole as deployed, or node by node where one looks inside.

OpenVINO renames and removes tensors while it compiles, so what lies inside a compiled model
cannot be asked for by name. A node that is looked at is compiled by itself, from right where its
inputs are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.cutting import unfed_inputs
from isomorph.core.errors import UsageError
from isomorph.core.ops import RANDOM
from isomorph.core.trace import Capabilities, Environment, Noise
from isomorph.frameworks.onnx.cut import Cutter
from isomorph.frameworks.onnx.ort_errors import refuse_unknown
from isomorph.frameworks.onnx.ort_session import with_values_inside
from isomorph.frameworks.onnx.ort_values import check_feed, type_proto
from isomorph.frameworks.openvino.compile import Compiled, compiled, completed, configuration

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Array, Arrays


class OpenvinoSession:
    """The deployed model, and single nodes compiled when first asked for."""

    capabilities = Capabilities(fetch="all", feed="all")

    def __init__(
        self,
        model: Model,
        environment: Environment,
        settings: Mapping[str, str],
        openvino: Any,  # noqa: ANN401
    ) -> None:
        refuse_unknown(model.native.proto, file=model.location)
        self._model, self._core = model, openvino.Core()
        self._config = configuration(settings)
        self._cutter = Cutter(model.native)
        self._nodes: dict[tuple[Any, ...], Compiled] = {}
        required = [name for name in self._cutter.inputs if name in self._cutter.required]
        self._deployed = compiled(
            self._core,
            self._source(),
            self._config,
            (required, self._cutter.outputs),
            file=model.location,
        )
        self.environment = completed(
            environment, settings, openvino, self._core, self._deployed.native,
            inside="every node that is looked at is compiled by itself",
        )  # fmt: skip

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``; both may name any top-level tensor."""
        if noise is not None:
            raise UsageError("NO_NOISE", "only an oracle can be disturbed, not OpenVINO")
        cutter = self._cutter
        wanted = list(dict.fromkeys(fetch))
        cutter.check((*feeds, *wanted))
        given = {name: np.asarray(value) for name, value in feeds.items()}
        for name, value in given.items():
            check_feed(name, value, self._model.graph.tensors.get(name))
        if set(given) == cutter.required and set(wanted) <= set(cutter.outputs):
            found = self._deployed.run(given, file=self._model.location)
        else:
            found = self._node_by_node(given, wanted)
        return {name: found[name] for name in wanted}

    def close(self) -> None:
        """Let go of everything compiled."""
        self._nodes.clear()
        del self._deployed

    def _node_by_node(self, given: dict[str, Array], wanted: Sequence[str]) -> dict[str, Array]:
        cutter, proto = self._cutter, self._model.native.proto
        known = dict(given)
        for name in wanted:
            if name in cutter.stored and name not in known:
                known[name] = self._model.native.initializer(name)
        piece = cutter.slice(known, [name for name in wanted if name not in known])
        if piece.inputs:
            raise unfed_inputs(piece.inputs, wanted[0], file=self._model.location)
        fixed = cutter.stored - given.keys()
        for index in piece.nodes:
            node = proto.graph.node[index]
            outputs = [n for n in node.output if n and n not in given]
            read = {
                name: known[name]
                for name in dict.fromkeys(cutter.reads[index])
                if name in known and name not in fixed
            }
            known |= self._node(index, read, outputs)
            # Axes and sizes stay constants of the piece: OpenVINO compiles few nodes without them.
            if not read and node.op_type not in RANDOM:
                fixed |= set(outputs)
        return known

    def _node(self, index: int, read: dict[str, Array], outputs: list[str]) -> dict[str, Array]:
        kinds = tuple((name, str(value.dtype), value.shape) for name, value in read.items())
        key = (index, kinds, tuple(outputs))
        if key not in self._nodes:
            specs = self._model.graph.tensors
            types = {
                name: _shaped(v, type_proto(v, specs.get(name), name)) for name, v in read.items()
            }
            piece = self._cutter.slice(read, outputs)
            proto = self._cutter.build(piece, types, outputs)
            whole = with_values_inside(proto, self._model.native)
            self._nodes[key] = compiled(
                self._core,
                whole.SerializeToString(),
                self._config,
                (list(read), outputs),
                file=self._model.location,
            )
        return self._nodes[key].run(read, file=self._model.location)

    def _source(self) -> str | bytes:
        """Its own file, where there is one: as it would be deployed."""
        native = self._model.native
        return str(native.path) if native.path is not None else native.proto.SerializeToString()


def _shaped(value: Array, kind: Any) -> Any:  # noqa: ANN401
    """The type with the shape of this very value: OpenVINO compiles few nodes of unknown rank."""
    kind.tensor_type.ClearField("shape")
    kind.tensor_type.shape.SetInParent()
    for size in value.shape:
        kind.tensor_type.shape.dim.add(dim_value=size)
    return kind

"""One ONNX model in OpenVINO: the whole as deployed, or node by node where one looks inside.

OpenVINO renames and removes tensors while it compiles, so what lies inside a compiled model
cannot be asked for by name. A node that is looked at is compiled by itself, from right where its
inputs are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isomorph.core.cutting import unfed_inputs
from isomorph.core.ops import RANDOM
from isomorph.frameworks.onnx.cut import Cutter
from isomorph.frameworks.onnx.ort_errors import refuse_unknown
from isomorph.frameworks.onnx.ort_session import with_values_inside
from isomorph.frameworks.onnx.ort_values import check_feed, type_proto
from isomorph.frameworks.openvino.compiled_session import CompiledSession

if TYPE_CHECKING:
    from isomorph.core.trace import Array


class OpenvinoSession(CompiledSession):
    """The deployed model, and single nodes compiled when first asked for."""

    inside = "every node that is looked at is compiled by itself"

    def deployed(self) -> tuple[Any, Sequence[str], Sequence[str]]:
        """Its own file, where there is one: as it would be deployed."""
        native = self._model.native
        refuse_unknown(native.proto, file=self._file)
        self._cutter = Cutter(native)
        required = [name for name in self._cutter.inputs if name in self._cutter.required]
        source = str(native.path) if native.path is not None else native.proto.SerializeToString()
        return source, required, self._cutter.outputs

    def check(self, names: Sequence[str]) -> None:
        """Any top-level tensor may be fed and fetched."""
        self._cutter.check(names)

    def accepted(self, name: str, value: Array) -> Array:
        """A value of the declared type and shape."""
        check_feed(name, value, self._model.graph.tensors.get(name))
        return value

    def stored(self, name: str) -> Array | None:
        """The value of an initializer."""
        known = name in self._cutter.stored
        return self._model.native.initializer(name) if known else None

    def computed(self, given: dict[str, Array], wanted: list[str]) -> dict[str, Array]:
        """Node by node."""
        cutter, proto = self._cutter, self._model.native.proto
        known = dict(given)
        piece = cutter.slice(known, wanted)
        if piece.inputs:
            raise unfed_inputs(piece.inputs, wanted[0], file=self._file)
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
        if key not in self._pieces:
            specs = self._model.graph.tensors
            types = {
                name: _shaped(v, type_proto(v, specs.get(name), name)) for name, v in read.items()
            }
            piece = self._cutter.slice(read, outputs)
            proto = self._cutter.build(piece, types, outputs)
            whole = with_values_inside(proto, self._model.native)
            self._pieces[key] = self._compiled(whole.SerializeToString(), list(read), outputs)
        return self._pieces[key].run(read, file=self._file)


def _shaped(value: Array, kind: Any) -> Any:  # noqa: ANN401
    """The type with the shape of this very value: OpenVINO compiles few nodes of unknown rank."""
    kind.tensor_type.ClearField("shape")
    kind.tensor_type.shape.SetInParent()
    for size in value.shape:
        kind.tensor_type.shape.dim.add(dim_value=size)
    return kind

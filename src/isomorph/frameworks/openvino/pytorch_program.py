"""An exported PyTorch program in OpenVINO, by OpenVINO's own front end: whole, never cut.

The front end renames and fuses as it reads, so nothing inside can be asked for by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError
from isomorph.core.trace import Capabilities
from isomorph.frameworks.openvino.compile import refused
from isomorph.frameworks.openvino.compiled_session import CompiledSession
from isomorph.frameworks.pytorch.control_flow import refuse_unsupported
from isomorph.frameworks.pytorch.silence_logs import quietly

if TYPE_CHECKING:
    from isomorph.core.model import TensorSpec
    from isomorph.core.trace import Array


def translated(
    openvino: Any,  # noqa: ANN401
    program: Any,  # noqa: ANN401
    inputs: Sequence[TensorSpec],
    *,
    file: str,
) -> Any:  # noqa: ANN401
    """OpenVINO's model of an exported program, with the sizes that the program declares."""
    try:
        with quietly():
            model = openvino.convert_model(program)
        # The front end leaves axes open that the program was exported with a size for.
        if len(model.inputs) == len(inputs):
            places = range(len(inputs))
            model.reshape({place: _partial(openvino, inputs[place]) for place in places})
    except Exception as error:
        raise refused(error, file) from error
    return model


def _partial(openvino: Any, spec: TensorSpec) -> Any:  # noqa: ANN401
    if spec.shape is None:
        return openvino.PartialShape.dynamic()
    return openvino.PartialShape([size if isinstance(size, int) else -1 for size in spec.shape])


class OpenvinoTorchSession(CompiledSession):
    """One compiled program, from its inputs to its outputs."""

    capabilities = Capabilities(fetch="outputs", feed="inputs")
    inside = "OpenVINO's own front end read the program; nothing inside can be asked for"

    def deployed(self) -> tuple[Any, Sequence[str], Sequence[str]]:
        """The exported program as the front end translates it."""
        native, graph = self._model.native.complete(), self._model.graph
        if native.exported is None:
            raise UsageError(
                "WRONG_RUNTIME",
                f"runtime 'openvino' runs exported programs, and this is a {native.kind}",
                file=self._file,
                fix="export it first: torch.export.save(torch.export.export(…), 'model.pt2')",
            )
        refuse_unsupported(native.program)
        source = translated(self._openvino, native.exported, graph.inputs, file=self._file)
        return source, [spec.name for spec in graph.inputs], [spec.name for spec in graph.outputs]

    def check(self, names: Sequence[str]) -> None:
        """Inputs are fed and outputs fetched, nothing else."""
        if not set(names) <= {*self._inputs, *self._outputs}:
            raise self._whole()

    def accepted(self, name: str, value: Array) -> Array:
        """As it is."""
        return value

    def stored(self, name: str) -> Array | None:
        """No constant has a name."""
        return None

    def computed(self, given: dict[str, Array], wanted: list[str]) -> dict[str, Array]:
        """A program is never cut."""
        raise self._whole()

    def _whole(self) -> UsageError:
        return UsageError(
            "NOT_CUTTABLE",
            "runtime 'openvino' runs a PyTorch program whole, from all inputs to outputs",
            file=self._file,
            fix="convert it to ONNX, where OpenVINO can be cut anywhere",
        )
